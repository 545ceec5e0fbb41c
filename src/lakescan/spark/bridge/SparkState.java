package lakescan;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.SQLExecution;
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

  /**
   * The cache of relations where the thread analyzes a query, the query's execution where it loads its tables once
   * more, null at any other time.
   */
  public Object query(JavaSparkContext context) {
    StackTraceElement[] stack = Thread.currentThread().getStackTrace();
    boolean refreshes = false;
    for (int at = 0; at < stack.length; at++) {
      String owner = stack[at].getClassName();
      if (owner.equals(ANALYSIS) && stack[at].getMethodName().startsWith("withNewAnalysisContext")) {
        return AnalysisContext.get().relationCache();
      }
      refreshes |= owner.indexOf("V2TableRefreshUtil") >= 0;
    }
    String number = refreshes ? context.getLocalProperty("spark.sql.execution.id") : null;
    return number == null ? null : SQLExecution.getQueryExecution(Long.parseLong(number));
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

  /** The name of an object's class, without its package. */
  public String kindOf(Object object) {
    return object.getClass().getSimpleName();
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
