package lakescan;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomTaskMetric;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a callback asks Spark about its thread, its session and its types, each answered in one trip from Python. Janino
 * compiles this, so types are as they are after erasure.
 */
public final class SparkState {
  private static final String ANALYSIS = "org.apache.spark.sql.catalyst.analysis.AnalysisContext$";

  /** The cache of relations where the thread analyzes a query, null at any other time. */
  public Object analysis() {
    StackTraceElement[] stack = Thread.currentThread().getStackTrace();
    for (int at = 0; at < stack.length; at++) {
      if (stack[at].getClassName().equals(ANALYSIS)
          && stack[at].getMethodName().startsWith("withNewAnalysisContext")) {
        return AnalysisContext.get().relationCache();
      }
    }
    return null;
  }

  /** The tracker of the query that the thread optimizes, null at any other time. */
  public Object optimization() {
    Option tracker = QueryPlanningTracker.get();
    return tracker.isDefined() ? tracker.get() : null;
  }

  /** The calls in which the thread is, innermost first, a comma and a space between them. */
  public String stack() {
    StackTraceElement[] stack = Thread.currentThread().getStackTrace();
    StringBuilder text = new StringBuilder();
    for (int at = 0; at < stack.length; at++) {
      text.append(at == 0 ? "" : ", ").append(stack[at]);
    }
    return text.toString();
  }

  /** The number of the thread that waits for the callback in which this is asked. */
  public long thread() {
    return Thread.currentThread().getId();
  }

  /** Whether that is the thread of a stream. */
  public boolean isOfAStream() {
    return Thread.currentThread().getName().startsWith("stream execution thread");
  }

  /** An object of Python's that is asked once for what does not change: see {@link Remembered}. */
  public Object remembered(Object python, String always, String atFirst) {
    return Remembered.of(python, always, atFirst);
  }

  /** Expressions, or one, for Python. Py4J finds no method for an array of a subclass, so arrays come as objects. */
  public String described(Object expressions, int mostValues) throws IOException {
    Object[] all = expressions instanceof Object[] ? (Object[]) expressions : new Object[] {expressions};
    return DescribedExpressions.of(all, mostValues);
  }

  public String describedAggregation(Aggregation aggregation) throws IOException {
    return DescribedExpressions.of(aggregation);
  }

  /** Those of some predicates whose numbers are given, a comma between them, behind others that may be null. */
  public Predicate[] chosen(Object before, Object predicates, String numbers) {
    Predicate[] known = before == null ? new Predicate[0] : (Predicate[]) before;
    String[] wanted = numbers.isEmpty() ? new String[0] : numbers.split(",");
    Predicate[] all = (Predicate[]) Arrays.copyOf(known, known.length + wanted.length);
    for (int at = 0; at < wanted.length; at++) {
      all[known.length + at] = ((Predicate[]) predicates)[Integer.parseInt(wanted[at])];
    }
    return all;
  }

  /** Columns by their names, a NUL behind each. */
  public NamedReference[] references(String names) {
    String[] parts = names.isEmpty() ? new String[0] : names.split("\0");
    NamedReference[] columns = new NamedReference[parts.length];
    for (int at = 0; at < parts.length; at++) {
      columns[at] = FieldReference.column(parts[at]);
    }
    return columns;
  }

  /** What Spark is told of its metrics: names and values, a NUL behind each. */
  public CustomTaskMetric[] metricValues(String told) {
    String[] words = told.isEmpty() ? new String[0] : told.split("\0");
    CustomTaskMetric[] values = new CustomTaskMetric[words.length / 2];
    for (int at = 0; at < values.length; at++) {
      values[at] = new PythonCustomTaskMetric(words[2 * at], Long.parseLong(words[2 * at + 1]));
    }
    return values;
  }

  /** The parts of a table's name, a NUL between them. */
  public String partsOf(Identifier identifier) {
    StringBuilder text = new StringBuilder();
    for (int at = 0; at < identifier.namespace().length; at++) {
      text.append(identifier.namespace()[at]).append('\0');
    }
    return text.append(identifier.name()).toString();
  }

  /** The settings whose names begin so, with or without `spark.` before them: names and values, a NUL behind each. */
  public String settings(SQLConf conf, String prefix) {
    StringBuilder text = new StringBuilder();
    Iterator settings = CollectionConverters.asJava(conf.getAllConfs()).entrySet().iterator();
    while (settings.hasNext()) {
      Map.Entry setting = (Map.Entry) settings.next();
      String name = (String) setting.getKey();
      if (name.startsWith(prefix) || name.startsWith("spark." + prefix)) {
        text.append(name).append('\0').append(setting.getValue()).append('\0');
      }
    }
    return text.toString();
  }

  /** The names and values of a map, a NUL behind each. */
  public String words(Map map) {
    StringBuilder text = new StringBuilder();
    Iterator entries = map.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      text.append(entry.getKey()).append('\0').append(entry.getValue()).append('\0');
    }
    return text.toString();
  }

  /** Rows as Catalyst holds them, of an Arrow stream with the columns of the schema. */
  public InternalRow[] rows(byte[] stream, String schema) throws IOException {
    UnsafeProjection held = UnsafeProjection.create((StructType) DataType.fromJson(schema));
    BufferAllocator memory = ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("lakescan rows", 0, Long.MAX_VALUE);
    ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), memory);
    List made = new ArrayList();
    try {
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      while (reader.loadNextBatch()) {
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int at = 0; at < columns.length; at++) {
          columns[at] = new ArrowColumnVector((FieldVector) vectors.get(at));
        }
        ColumnarBatch batch = new ColumnarBatch(columns, root.getRowCount());
        for (int row = 0; row < root.getRowCount(); row++) {
          made.add(held.apply(batch.getRow(row)).copy());
        }
      }
    } finally {
      reader.close();
      memory.close();
    }
    return (InternalRow[]) made.toArray(new InternalRow[made.size()]);
  }

  /** The columns of a schema. A collation is part of a string's type, and only the field as a whole says which. */
  public Column[] columns(String schema) throws ReflectiveOperationException {
    // Janino calls no static method of an interface.
    Method create =
        Column.class.getMethod(
            "create", new Class[] {String.class, DataType.class, boolean.class, String.class, String.class});
    StructType struct = (StructType) DataType.fromJson(schema);
    Column[] columns = new Column[struct.length()];
    for (int at = 0; at < columns.length; at++) {
      StructField field = struct.apply(at);
      Option comment = field.getComment();
      String notes =
          new MetadataBuilder()
              .withMetadata(field.metadata())
              .remove("comment")
              .remove("__COLLATIONS")
              .build()
              .json();
      String said = comment.isDefined() ? (String) comment.get() : null;
      Object[] known = {field.name(), field.dataType(), Boolean.valueOf(field.nullable()), said, notes};
      columns[at] = (Column) create.invoke(null, known);
    }
    return columns;
  }
}
