package lakescan;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.datasources.VariantMetadata;
import org.apache.spark.sql.execution.datasources.parquet.FieldToExtract;
import org.apache.spark.sql.execution.datasources.parquet.SparkShreddingUtils;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.types.variant.VariantSchema;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * What a query takes out of a Variant, of Variants that a worker sends whole: by the code by which Spark's own reader
 * does it. A value that cannot be had fails whoever asks for it, and not those who do not: a filter may drop its row.
 */
public final class VariantFields {
  private static final VariantSchema WHOLE =
      SparkShreddingUtils.buildVariantSchema(
          new StructType().add("value", DataTypes.BinaryType, false).add("metadata", DataTypes.BinaryType, false));

  private final StructType type;
  private final FieldToExtract[] together;
  private final FieldToExtract[][] alone;
  private final RowToColumnConverter converter;

  private VariantFields(StructType type) {
    this.type = type;
    this.together = SparkShreddingUtils.getFieldsToExtract(type, WHOLE);
    this.alone = new FieldToExtract[type.length()][];
    for (int at = 0; at < alone.length; at++) {
      alone[at] = SparkShreddingUtils.getFieldsToExtract(new StructType().add(type.apply(at)), WHOLE);
    }
    this.converter = new RowToColumnConverter(new StructType().add("fields", type, true));
  }

  /** Those of each column of a scan; null for one that is given as it is. */
  public static VariantFields[] of(StructType given) {
    VariantFields[] known = new VariantFields[given.length()];
    for (int at = 0; at < known.length; at++) {
      DataType type = given.apply(at).dataType();
      known[at] = VariantMetadata.isVariantStruct(type) ? new VariantFields((StructType) type) : null;
    }
    return known;
  }

  /** The struct of what is taken out of these rows' Variants. */
  public ColumnVector from(ColumnVector variants, int rows) {
    WritableColumnVector[] made = {new OnHeapColumnVector(rows, type)};
    RuntimeException[][] failures = null;
    GenericInternalRow one = new GenericInternalRow(1);
    for (int row = 0; row < rows; row++) {
      Object values = null;
      if (!variants.isNullAt(row)) {
        VariantVal variant = variants.getVariant(row);
        InternalRow stored = new GenericInternalRow(new Object[] {variant.getValue(), variant.getMetadata()});
        try {
          values = SparkShreddingUtils.assembleVariantStruct(stored, WHOLE, together);
        } catch (RuntimeException failure) {
          failures = failures == null ? new RuntimeException[type.length()][rows] : failures;
          values = oneByOne(stored, row, failures);
        }
      }
      one.update(0, values);
      converter.convert(one, made);
    }
    return failures == null ? made[0] : new Failing(made[0], failures);
  }

  private InternalRow oneByOne(InternalRow stored, int row, RuntimeException[][] failures) {
    GenericInternalRow values = new GenericInternalRow(type.length());
    for (int at = 0; at < alone.length; at++) {
      try {
        InternalRow made = SparkShreddingUtils.assembleVariantStruct(stored, WHOLE, alone[at]);
        values.update(at, made.get(0, type.apply(at).dataType()));
      } catch (RuntimeException failure) {
        failures[at][row] = failure;
      }
    }
    return values;
  }

  /** A struct some of whose fields are not to be had in some rows, or one of these fields. */
  private static final class Failing extends ColumnVector {
    private final ColumnVector known;
    private final RuntimeException[] failures;
    private final ColumnVector[] fields;

    Failing(ColumnVector struct, RuntimeException[][] failures) {
      super(struct.dataType());
      this.known = struct;
      this.failures = null;
      this.fields = new ColumnVector[failures.length];
      for (int at = 0; at < fields.length; at++) {
        fields[at] = new Failing(struct.getChild(at), failures[at]);
      }
    }

    private Failing(ColumnVector field, RuntimeException[] failures) {
      super(field.dataType());
      this.known = field;
      this.failures = failures;
      this.fields = null;
    }

    /** Whoever wants a value asks first whether there is one. */
    public boolean isNullAt(int row) {
      if (failures != null && failures[row] != null) {
        throw failures[row];
      }
      return known.isNullAt(row);
    }

    public boolean hasNull() {
      return true;
    }

    public int numNulls() {
      return known.numNulls();
    }

    public ColumnVector getChild(int at) {
      return fields == null ? known.getChild(at) : fields[at];
    }

    public boolean getBoolean(int row) {
      return known.getBoolean(row);
    }

    public byte getByte(int row) {
      return known.getByte(row);
    }

    public short getShort(int row) {
      return known.getShort(row);
    }

    public int getInt(int row) {
      return known.getInt(row);
    }

    public long getLong(int row) {
      return known.getLong(row);
    }

    public float getFloat(int row) {
      return known.getFloat(row);
    }

    public double getDouble(int row) {
      return known.getDouble(row);
    }

    public ColumnarArray getArray(int row) {
      return known.getArray(row);
    }

    public ColumnarMap getMap(int row) {
      return known.getMap(row);
    }

    public Decimal getDecimal(int row, int precision, int scale) {
      return known.getDecimal(row, precision, scale);
    }

    public UTF8String getUTF8String(int row) {
      return known.getUTF8String(row);
    }

    public byte[] getBinary(int row) {
      return known.getBinary(row);
    }

    public void close() {}
  }
}
