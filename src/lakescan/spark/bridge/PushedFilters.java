package lakescan;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

import scala.jdk.javaapi.CollectionConverters;

/**
 * The filters of a scan as Spark's own expressions, so that they mean here just what they mean to Spark: the one that
 * rows must pass, and the one that says which rows anybody wants at all. The driver writes them as words, a line each,
 * the operands of an operator before it, with their constants as one row of an Arrow stream.
 */
public final class PushedFilters {
  /** Null where every row passes, but for nulls. */
  public final Expression rows;
  /** Null where every row is wanted. */
  public final Expression wanted;
  /** Whether rows are filtered here whatever is known of pages; where not, a worker does it with less effort. */
  public final boolean always;
  /** Columns of which rows with a null do not pass either. */
  public final int[] notNull;

  private final StructType columns;
  private final List literals = new ArrayList();

  /** Column `at` of `columns` is what the driver means by `at`. */
  public PushedFilters(byte[] stream, StructType columns) throws IOException {
    this.columns = columns;
    BufferAllocator memory =
        ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("lakescan filters", 0, Long.MAX_VALUE);
    ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), memory);
    Map texts;
    try {
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      texts = root.getSchema().getCustomMetadata();
      reader.loadNextBatch();
      List vectors = root.getFieldVectors();
      ColumnVector[] values = new ColumnVector[vectors.size()];
      for (int at = 0; at < values.length; at++) {
        values[at] = new ArrowColumnVector((FieldVector) vectors.get(at));
      }
      InternalRow row = new ColumnarBatch(values, 1).getRow(0).copy();
      for (int at = 0; at < values.length; at++) {
        literals.add(new Literal(row.get(at, values[at].dataType()), values[at].dataType()));
      }
    } finally {
      reader.close();
      memory.close();
    }
    rows = parsed((String) texts.get("rows"));
    wanted = parsed((String) texts.get("wanted"));
    always = Boolean.parseBoolean((String) texts.get("always"));
    String[] places = ((String) texts.get("not_null")).split(" ");
    notNull = new int[places[0].isEmpty() ? 0 : places.length];
    for (int at = 0; at < notNull.length; at++) {
      notNull[at] = Integer.parseInt(places[at]);
    }
  }

  private Expression parsed(String text) {
    if (text == null || text.isEmpty()) {
      return null;
    }
    Deque stack = new ArrayDeque();
    String[] lines = text.split("\n");
    for (int at = 0; at < lines.length; at++) {
      String[] words = lines[at].split(" ");
      int number = words.length > 1 ? Integer.parseInt(words[1]) : 0;
      stack.push(words[0].equals("in") ? in(stack, number) : made(words[0], number, stack));
    }
    return (Expression) stack.pop();
  }

  private Expression made(String word, int number, Deque stack) {
    if (word.equals("column")) {
      return new BoundReference(number, columns.apply(number).dataType(), true);
    } else if (word.equals("literal")) {
      return (Expression) literals.get(number);
    } else if (word.equals("true") || word.equals("false")) {
      return new Literal(Boolean.valueOf(word), DataTypes.BooleanType);
    } else if (word.equals("unknown")) {
      return new Literal(null, DataTypes.BooleanType);
    }
    Expression right = (Expression) stack.pop();
    if (word.equals("null")) {
      return new IsNull(right);
    } else if (word.equals("not")) {
      return new Not(right);
    }
    Expression left = (Expression) stack.pop();
    if (!left.dataType().equals(right.dataType())) {
      throw new IllegalArgumentException(left + " " + word + " " + right + " compares two types");
    }
    if (word.equals("and")) {
      return new And(left, right);
    } else if (word.equals("or")) {
      return new Or(left, right);
    } else if (word.equals("=")) {
      return new EqualTo(left, right);
    } else if (word.equals("<>")) {
      return new Not(new EqualTo(left, right));
    } else if (word.equals("<=>")) {
      return new EqualNullSafe(left, right);
    } else if (word.equals("<")) {
      return new LessThan(left, right);
    } else if (word.equals("<=")) {
      return new LessThanOrEqual(left, right);
    } else if (word.equals(">")) {
      return new GreaterThan(left, right);
    } else if (word.equals(">=")) {
      return new GreaterThanOrEqual(left, right);
    } else if (word.equals("starts")) {
      return new StartsWith(left, right);
    }
    throw new IllegalArgumentException(word + " is no word of a filter");
  }

  private static Expression in(Deque stack, int count) {
    List values = new ArrayList();
    for (int at = 0; at < count; at++) {
      values.add(stack.pop());
    }
    Expression column = (Expression) stack.pop();
    for (int at = 0; at < count; at++) {
      if (!((Expression) values.get(at)).dataType().equals(column.dataType())) {
        throw new IllegalArgumentException(column + " and what it may be are of two types");
      }
    }
    return new In(column, CollectionConverters.asScala(values).toSeq());
  }
}
