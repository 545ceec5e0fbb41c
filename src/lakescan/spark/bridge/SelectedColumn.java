package lakescan;

import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Some rows of a column: row `at` is row `rows[at]` of the whole one. Nothing is copied; whoever made the selection may
 * change it between two batches. The whole column belongs to its reader and is closed there.
 */
public final class SelectedColumn extends ColumnVector {
  private final ColumnVector whole;
  private final Selection selection;
  private final int[] rows;
  private final SelectedColumn[] children;

  public SelectedColumn(ColumnVector whole, Selection selection) {
    super(whole.dataType());
    this.whole = whole;
    this.selection = selection;
    this.rows = selection.rows;
    this.children = new SelectedColumn[Selection.childrenOf(whole.dataType())];
    for (int at = 0; at < children.length; at++) {
      children[at] = new SelectedColumn(whole.getChild(at), selection);
    }
  }

  public void close() {}

  public boolean hasNull() {
    return whole.hasNull();
  }

  public int numNulls() {
    int count = 0;
    for (int at = 0; at < selection.count; at++) {
      count += whole.isNullAt(rows[at]) ? 1 : 0;
    }
    return count;
  }

  public boolean isNullAt(int row) {
    return whole.isNullAt(rows[row]);
  }

  public boolean getBoolean(int row) {
    return whole.getBoolean(rows[row]);
  }

  public byte getByte(int row) {
    return whole.getByte(rows[row]);
  }

  public short getShort(int row) {
    return whole.getShort(rows[row]);
  }

  public int getInt(int row) {
    return whole.getInt(rows[row]);
  }

  public long getLong(int row) {
    return whole.getLong(rows[row]);
  }

  public float getFloat(int row) {
    return whole.getFloat(rows[row]);
  }

  public double getDouble(int row) {
    return whole.getDouble(rows[row]);
  }

  public ColumnarArray getArray(int row) {
    return whole.getArray(rows[row]);
  }

  public ColumnarMap getMap(int row) {
    return whole.getMap(rows[row]);
  }

  public Decimal getDecimal(int row, int precision, int scale) {
    return whole.getDecimal(rows[row], precision, scale);
  }

  public UTF8String getUTF8String(int row) {
    return whole.getUTF8String(rows[row]);
  }

  public byte[] getBinary(int row) {
    return whole.getBinary(rows[row]);
  }

  /** Of a struct: Spark asks its fields for the struct's rows. An array's or a map's elements are no rows. */
  public ColumnVector getChild(int at) {
    return children[at];
  }
}
