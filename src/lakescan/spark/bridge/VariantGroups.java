package lakescan;

import java.util.HashSet;
import java.util.Set;

import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.IntLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.execution.datasources.VariantMetadata;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/**
 * How files hold a Variant: a group of `metadata` and `value` and, where it is shredded, of typed values. Spark's reader
 * takes any group for one that it can make a Variant of; here it must be one that Arrow makes the same Variant of.
 */
public final class VariantGroups {
  /** The one field of the struct that stands for a Variant in {@link #marked}. */
  private static final String MARK = "a Variant, whole or shredded";

  private VariantGroups() {}

  /** The type with a marked struct in the place of each Variant, and of each struct of what is taken out of one. */
  public static DataType marked(DataType type) {
    if (type instanceof VariantType || VariantMetadata.isVariantStruct(type)) {
      return new StructType().add(MARK, DataTypes.BinaryType, true);
    }
    if (type instanceof ArrayType) {
      ArrayType array = (ArrayType) type;
      return new ArrayType(marked(array.elementType()), array.containsNull());
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return new MapType(marked(map.keyType()), marked(map.valueType()), map.valueContainsNull());
    }
    if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      StructField[] marked = new StructField[fields.length];
      for (int at = 0; at < fields.length; at++) {
        StructField field = fields[at];
        marked[at] = new StructField(field.name(), marked(field.dataType()), field.nullable(), field.metadata());
      }
      return new StructType(marked);
    }
    return type;
  }

  public static boolean isMarked(GroupType wanted) {
    return wanted.getFieldCount() == 1 && wanted.getType(0).getName().equals(MARK);
  }

  /** Whether a column's group is a Variant. */
  public static boolean isVariant(GroupType group) {
    Object kind = group.getLogicalTypeAnnotation();
    // Parquet's class for it is newer than the oldest Spark.
    return (kind == null || kind.toString().startsWith("VARIANT")) && hasParts(group, true);
  }

  private static boolean hasParts(GroupType group, boolean withMetadata) {
    Set names = new HashSet();
    for (int at = 0; at < group.getFieldCount(); at++) {
      Type part = group.getType(at);
      String name = part.getName();
      boolean isBytes = isPlain(part, PrimitiveTypeName.BINARY) && part.getLogicalTypeAnnotation() == null;
      boolean known =
          name.equals("typed_value")
              ? isTyped(part)
              : isBytes && (name.equals("value") || (withMetadata && name.equals("metadata")));
      if (!known || !names.add(name)) {
        return false;
      }
    }
    boolean hasValue = names.contains("value") || names.contains("typed_value");
    return hasValue && names.contains("metadata") == withMetadata;
  }

  /** An object's fields and a list's elements are groups of `value` and `typed_value` themselves. */
  private static boolean isTyped(Type type) {
    if (type.isRepetition(Type.Repetition.REPEATED)) {
      return false;
    }
    if (type.isPrimitive()) {
      return isScalar(type.asPrimitiveType());
    }
    GroupType group = type.asGroupType();
    if (LogicalTypeAnnotation.listType().equals(group.getLogicalTypeAnnotation())) {
      return isList(group);
    }
    boolean isObject = group.getLogicalTypeAnnotation() == null && group.getFieldCount() > 0;
    for (int at = 0; isObject && at < group.getFieldCount(); at++) {
      isObject = isPart(group.getType(at));
    }
    return isObject;
  }

  private static boolean isList(GroupType group) {
    if (group.getFieldCount() != 1 || group.getType(0).isPrimitive()) {
      return false;
    }
    GroupType items = group.getType(0).asGroupType();
    return items.isRepetition(Type.Repetition.REPEATED) && items.getFieldCount() == 1 && isPart(items.getType(0));
  }

  private static boolean isPart(Type type) {
    return !type.isPrimitive()
        && !type.isRepetition(Type.Repetition.REPEATED)
        && type.getLogicalTypeAnnotation() == null
        && hasParts(type.asGroupType(), false);
  }

  private static boolean isPlain(Type type, PrimitiveTypeName name) {
    return type.isPrimitive()
        && !type.isRepetition(Type.Repetition.REPEATED)
        && type.asPrimitiveType().getPrimitiveTypeName() == name;
  }

  private static boolean isScalar(PrimitiveType type) {
    Object kind = type.getLogicalTypeAnnotation();
    PrimitiveTypeName name = type.getPrimitiveTypeName();
    if (kind instanceof DecimalLogicalTypeAnnotation) {
      int precision = ((DecimalLogicalTypeAnnotation) kind).getPrecision();
      return name == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY
          ? precision > 18 && type.getTypeLength() == Decimal.minBytesForPrecision()[precision]
          : (name == PrimitiveTypeName.INT32 && precision <= 9)
              || (name == PrimitiveTypeName.INT64 && precision > 9 && precision <= 18);
    }
    if (kind instanceof IntLogicalTypeAnnotation) {
      return ((IntLogicalTypeAnnotation) kind).isSigned();
    }
    if (kind instanceof TimestampLogicalTypeAnnotation) {
      return ((TimestampLogicalTypeAnnotation) kind).getUnit() == LogicalTypeAnnotation.TimeUnit.MICROS;
    }
    boolean isDay = name == PrimitiveTypeName.INT32 && LogicalTypeAnnotation.dateType().equals(kind);
    boolean isText = name == PrimitiveTypeName.BINARY && LogicalTypeAnnotation.stringType().equals(kind);
    boolean isBare =
        kind == null && name != PrimitiveTypeName.INT96 && name != PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    return isDay || isText || isBare;
  }
}
