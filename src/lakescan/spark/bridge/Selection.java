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

  /** Moves the selected ones of `all` values of a column to its beginning; false, and nothing moved, for nested ones. */
  public boolean move(WritableColumnVector column, int all) {
    DataType type = column.dataType();
    if (column.isAllNull()) {
      return true;
    }
    boolean isDecimal = type instanceof DecimalType;
    int precision = isDecimal ? ((DecimalType) type).precision() : 0;
    if (column.hasDictionary()) {
      moveInts(column.getDictionaryIds(), all);
    } else if (type instanceof IntegerType || type instanceof DateType || (isDecimal && precision <= 9)) {
      moveInts(column, all);
    } else if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || (isDecimal && precision <= 18)) {
      moveLongs(column, all);
    } else if (type instanceof DoubleType) {
      moveDoubles(column, all);
    } else if (type instanceof FloatType) {
      moveFloats(column, all);
    } else if (type instanceof ShortType) {
      moveShorts(column, all);
    } else if (type instanceof BooleanType || type instanceof ByteType) {
      moveBytes(column, all);
    } else if (type instanceof StringType || type instanceof BinaryType || isDecimal) {
      moveTexts(column);
    } else {
      return false;
    }
    if (column.hasNull()) {
      moveNulls(column);
    }
    return true;
  }

  private void moveNulls(WritableColumnVector column) {
    boolean[] nulls = new boolean[count];
    for (int run = 0, to = 0; run < runs; run++) {
      for (int at = 0; at < lengths[run]; at++) {
        nulls[to++] = column.isNullAt(starts[run] + at);
      }
    }
    column.putNotNulls(0, count);
    for (int at = 0; at < count; at++) {
      if (nulls[at]) {
        column.putNull(at);
      }
    }
  }

  private void moveTexts(WritableColumnVector column) {
    for (int run = 0, to = 0; run < runs; run++) {
      for (int at = 0; at < lengths[run]; at++, to++) {
        int row = starts[run] + at;
        column.putArray(to, column.getArrayOffset(row), column.getArrayLength(row));
      }
    }
  }

  private void moveInts(WritableColumnVector column, int all) {
    int[] values = column.getInts(0, all);
    for (int at = 0, to = 0; at < runs; to += lengths[at++]) {
      column.putInts(to, lengths[at], values, starts[at]);
    }
  }

  private void moveLongs(WritableColumnVector column, int all) {
    long[] values = column.getLongs(0, all);
    for (int at = 0, to = 0; at < runs; to += lengths[at++]) {
      column.putLongs(to, lengths[at], values, starts[at]);
    }
  }

  private void moveDoubles(WritableColumnVector column, int all) {
    double[] values = column.getDoubles(0, all);
    for (int at = 0, to = 0; at < runs; to += lengths[at++]) {
      column.putDoubles(to, lengths[at], values, starts[at]);
    }
  }

  private void moveFloats(WritableColumnVector column, int all) {
    float[] values = column.getFloats(0, all);
    for (int at = 0, to = 0; at < runs; to += lengths[at++]) {
      column.putFloats(to, lengths[at], values, starts[at]);
    }
  }

  private void moveShorts(WritableColumnVector column, int all) {
    short[] values = column.getShorts(0, all);
    for (int at = 0, to = 0; at < runs; to += lengths[at++]) {
      column.putShorts(to, lengths[at], values, starts[at]);
    }
  }

  private void moveBytes(WritableColumnVector column, int all) {
    byte[] values = column.getBytes(0, all);
    for (int at = 0, to = 0; at < runs; to += lengths[at++]) {
      column.putBytes(to, lengths[at], values, starts[at]);
    }
  }
}
