package lakescan;

import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
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
   * Moves the selected values of a column to its beginning, those of a struct in each of its fields; false, and nothing
   * moved, where Spark's vectors do not show their arrays.
   */
  public boolean move(WritableColumnVector column) {
    if (!VectorArrays.areKnown(column)) {
      return false;
    }
    if (column.isAllNull()) {
      return true;
    }
    Object[] arrays = VectorArrays.of(column.hasDictionary() ? column.getDictionaryIds() : column);
    for (int at = 0; at < arrays.length; at++) {
      move(arrays[at]);
    }
    if (column.hasNull()) {
      move(VectorArrays.nulls(column));
    }
    for (int at = 0; at < childrenOf(column.dataType()); at++) {
      move((WritableColumnVector) column.getChild(at));
    }
    return true;
  }

  /** Each run by itself to a place before its own. What an array holds is told once, not for each of its runs. */
  private void move(Object array) {
    if (array instanceof int[]) {
      move((int[]) array);
    } else if (array instanceof long[]) {
      move((long[]) array);
    } else if (array instanceof double[]) {
      move((double[]) array);
    } else if (array instanceof byte[]) {
      move((byte[]) array);
    } else {
      for (int run = 0, to = 0; run < runs; to += lengths[run++]) {
        System.arraycopy(array, starts[run], array, to, lengths[run]);
      }
    }
  }

  private void move(int[] values) {
    for (int run = 0, to = 0; run < runs; to += lengths[run++]) {
      System.arraycopy(values, starts[run], values, to, lengths[run]);
    }
  }

  private void move(long[] values) {
    for (int run = 0, to = 0; run < runs; to += lengths[run++]) {
      System.arraycopy(values, starts[run], values, to, lengths[run]);
    }
  }

  private void move(double[] values) {
    for (int run = 0, to = 0; run < runs; to += lengths[run++]) {
      System.arraycopy(values, starts[run], values, to, lengths[run]);
    }
  }

  private void move(byte[] values) {
    for (int run = 0, to = 0; run < runs; to += lengths[run++]) {
      System.arraycopy(values, starts[run], values, to, lengths[run]);
    }
  }
}
