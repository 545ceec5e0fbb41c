package lakescan;

import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;

/**
 * Rows of a batch, in order: as runs of neighbours, and by number where somebody has to look at each of them. Where they
 * lie in few runs, a column's values are moved together (whoever asks for them then asks Spark's own vectors); where not,
 * {@link SelectedColumn} looks each up.
 */
public final class Selection {
  private static final int SHORT_RUN = 16;

  /** The first `count` are the selected ones, once they are {@link #list listed}. */
  public final int[] rows;
  public int count;
  private final int[] starts;
  private final int[] lengths;
  private int runs;

  public Selection(int most) {
    this.rows = new int[most];
    this.starts = new int[most];
    this.lengths = new int[most];
  }

  public void clear() {
    count = 0;
    runs = 0;
  }

  /** Selects `length` rows more, which are behind those that are selected. */
  public void add(int start, int length) {
    if (length == 0) {
      return;
    }
    if (runs > 0 && starts[runs - 1] + lengths[runs - 1] == start) {
      lengths[runs - 1] += length;
    } else {
      starts[runs] = start;
      lengths[runs++] = length;
    }
    count += length;
  }

  /** Writes down each row's number. */
  public void list() {
    int to = 0;
    for (int run = 0; run < runs; run++) {
      for (int at = 0; at < lengths[run]; at++) {
        rows[to++] = starts[run] + at;
      }
    }
  }

  /** Keeps the first `left` of the listed rows, which somebody has put there. */
  public void keep(int left) {
    clear();
    for (int at = 0; at < left; at++) {
      add(rows[at], 1);
    }
  }

  /** How many columns lie side by side in one of this type; those of a Variant are its value and its names. */
  public static int childrenOf(DataType type) {
    return type instanceof StructType ? ((StructType) type).length() : type instanceof VariantType ? 2 : 0;
  }

  /** Whether the rows lie in runs that are long enough for values to be moved. */
  public boolean hasLongRuns() {
    return runs * SHORT_RUN <= count;
  }

  /**
   * Moves the selected values of a column to its beginning, each to a place before its own; false, and nothing moved, for
   * nested ones. To take the runs out of a copy of the column would take twice the time, and be garbage for each batch.
   */
  public boolean move(WritableColumnVector column) {
    if (column.isAllNull()) {
      return true;
    }
    Values values = column.hasDictionary() ? Values.INTS : Values.of(column.dataType());
    if (values == Values.NESTED) {
      return false;
    }
    WritableColumnVector moved = column.hasDictionary() ? column.getDictionaryIds() : column;
    boolean hasNull = column.hasNull();
    for (int run = 0, to = 0; run < runs; to += lengths[run++]) {
      if (starts[run] > to) {
        move(values, moved, starts[run], to, lengths[run]);
        if (hasNull) {
          moveNulls(column, starts[run], to, lengths[run]);
        }
      }
    }
    return true;
  }

  private static void move(Values values, WritableColumnVector column, int from, int to, int count) {
    switch (values) {
      case INTS:
        for (int at = 0; at < count; at++) {
          column.putInt(to + at, column.getInt(from + at));
        }
        break;
      case LONGS:
        for (int at = 0; at < count; at++) {
          column.putLong(to + at, column.getLong(from + at));
        }
        break;
      case DOUBLES:
        for (int at = 0; at < count; at++) {
          column.putDouble(to + at, column.getDouble(from + at));
        }
        break;
      case FLOATS:
        for (int at = 0; at < count; at++) {
          column.putFloat(to + at, column.getFloat(from + at));
        }
        break;
      case SHORTS:
        for (int at = 0; at < count; at++) {
          column.putShort(to + at, column.getShort(from + at));
        }
        break;
      case BYTES:
        for (int at = 0; at < count; at++) {
          column.putByte(to + at, column.getByte(from + at));
        }
        break;
      default:
        for (int at = 0; at < count; at++) {
          column.putArray(to + at, column.getArrayOffset(from + at), column.getArrayLength(from + at));
        }
    }
  }

  private static void moveNulls(WritableColumnVector column, int from, int to, int count) {
    for (int at = 0; at < count; at++) {
      if (column.isNullAt(from + at)) {
        column.putNull(to + at);
      } else {
        column.putNotNull(to + at);
      }
    }
  }

  /** What Spark's vectors hold the values of a type in; texts are places in a column of bytes. */
  private enum Values {
    INTS,
    LONGS,
    DOUBLES,
    FLOATS,
    SHORTS,
    BYTES,
    TEXTS,
    NESTED;

    static Values of(DataType type) {
      boolean isDecimal = type instanceof DecimalType;
      int precision = isDecimal ? ((DecimalType) type).precision() : 0;
      if (type instanceof IntegerType || type instanceof DateType || (isDecimal && precision <= 9)) {
        return INTS;
      }
      if (type instanceof LongType
          || type instanceof TimestampType
          || type instanceof TimestampNTZType
          || (isDecimal && precision <= 18)) {
        return LONGS;
      }
      if (type instanceof DoubleType) {
        return DOUBLES;
      }
      if (type instanceof FloatType) {
        return FLOATS;
      }
      if (type instanceof ShortType) {
        return SHORTS;
      }
      if (type instanceof BooleanType || type instanceof ByteType) {
        return BYTES;
      }
      return type instanceof StringType || type instanceof BinaryType || isDecimal ? TEXTS : NESTED;
    }
  }
}
