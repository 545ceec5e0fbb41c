package lakescan;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

import org.apache.parquet.column.Encoding;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;

/**
 * Which files hold the columns of a scan as Spark would have written them, or surely do not have them: in any other
 * Spark's reader might see another value than Arrow does. Nothing of it hangs on the session's settings.
 */
public final class StoredColumns {
  private static final Object MICROSECONDS =
      LogicalTypeAnnotation.timestampType(true, LogicalTypeAnnotation.TimeUnit.MICROS);
  private static final Set CODECS =
      new HashSet(
          Arrays.asList(
              new Object[] {
                CompressionCodecName.UNCOMPRESSED,
                CompressionCodecName.SNAPPY,
                CompressionCodecName.GZIP,
                CompressionCodecName.ZSTD
              }));
  @SuppressWarnings("deprecation") // files of older writers have them
  private static final Set ENCODINGS =
      new HashSet(
          Arrays.asList(
              new Object[] {
                Encoding.PLAIN,
                Encoding.PLAIN_DICTIONARY,
                Encoding.RLE_DICTIONARY,
                Encoding.RLE,
                Encoding.BIT_PACKED
              }));

  private final MessageType wanted;

  public StoredColumns(StructType stored) {
    SQLConf conf = new SQLConf();
    conf.setConfString("spark.sql.parquet.writeLegacyFormat", "false");
    conf.setConfString("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS");
    conf.setConfString("spark.sql.parquet.fieldId.write.enabled", "true");
    this.wanted = new SparkToParquetSchemaConverter(conf).convert((StructType) VariantGroups.marked(stored));
  }

  public boolean areIn(ParquetMetadata footer) {
    MessageType file = footer.getFileMetaData().getSchema();
    if (isOfAnotherCalendar(footer)) {
      return false;
    }
    Set names = new HashSet();
    int count = 0;
    for (int at = 0; at < wanted.getFieldCount(); at++) {
      Type column = wanted.getType(at);
      names.add(column.getName());
      if (has(file, column)) {
        count++;
      } else if (!lacks(file, column)) {
        return false;
      }
    }
    List groups = footer.getBlocks();
    for (int at = 0; at < groups.size(); at++) {
      if (!isReadable((BlockMetaData) groups.get(at), file, names)) {
        return false;
      }
    }
    // A worker counts the rows of a file that has none of the columns.
    return count > 0;
  }

  private static boolean isReadable(BlockMetaData group, MessageType file, Set names) {
    List chunks = group.getColumns();
    for (int at = 0; at < chunks.size(); at++) {
      ColumnChunkMetaData chunk = (ColumnChunkMetaData) chunks.get(at);
      String[] path = chunk.getPath().toArray();
      if (!names.contains(path[0])) {
        continue;
      }
      boolean repeats = file.getMaxRepetitionLevel(path) > 0;
      long values = chunk.getValueCount();
      long rows = group.getRowCount();
      if (!(CODECS.contains(chunk.getCodec()) && ENCODINGS.containsAll(chunk.getEncodings()))
          || values < rows
          || (values > rows && !repeats)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isOfAnotherCalendar(ParquetMetadata footer) {
    Map notes = footer.getFileMetaData().getKeyValueMetaData();
    String version = (String) notes.get("org.apache.spark.version");
    return notes.containsKey("org.apache.spark.legacyDateTime")
        || notes.containsKey("org.apache.spark.legacyINT96")
        || (version != null && version.compareTo("3.1.0") < 0);
  }

  /** Whether the fields have just one of the name, which is the wanted one; where it has an id, just one of that. */
  private static boolean has(GroupType fields, Type wanted) {
    int named = 0;
    int numbered = 0;
    boolean same = false;
    for (int at = 0; at < fields.getFieldCount(); at++) {
      Type field = fields.getType(at);
      numbered += wanted.getId() != null && wanted.getId().equals(field.getId()) ? 1 : 0;
      if (field.getName().equals(wanted.getName())) {
        named++;
        same = isSame(field, wanted) && (wanted.getId() == null || wanted.getId().equals(field.getId()));
      }
    }
    return named == 1 && same && (wanted.getId() == null || numbered == 1);
  }

  /** Whether a column that may be null is surely not there, under no spelling of its name and no id. */
  private static boolean lacks(GroupType fields, Type wanted) {
    if (wanted.isRepetition(Type.Repetition.REQUIRED)) {
      return false;
    }
    boolean numbered = false;
    for (int at = 0; at < fields.getFieldCount(); at++) {
      Type field = fields.getType(at);
      numbered = numbered || field.getId() != null;
      if (field.getName().equalsIgnoreCase(wanted.getName())
          || field.getName().toLowerCase(Locale.ROOT).equals(wanted.getName().toLowerCase(Locale.ROOT))
          || (wanted.getId() != null && wanted.getId().equals(field.getId()))) {
        return false;
      }
    }
    // A file without any ids is an error where columns are found by them.
    return wanted.getId() == null || numbered;
  }

  private static boolean isSame(Type stored, Type wanted) {
    if (stored.isPrimitive() != wanted.isPrimitive()
        || stored.isRepetition(Type.Repetition.REPEATED) != wanted.isRepetition(Type.Repetition.REPEATED)
        || (wanted.isRepetition(Type.Repetition.REQUIRED) && !stored.isRepetition(Type.Repetition.REQUIRED))) {
      return false;
    }
    return wanted.isPrimitive()
        ? isSameValue(stored.asPrimitiveType(), wanted.asPrimitiveType())
        : isSameGroup(stored.asGroupType(), wanted.asGroupType());
  }

  /** Structs may have more fields than are wanted; lists and maps are of three levels, named as Spark names them. */
  private static boolean isSameGroup(GroupType stored, GroupType wanted) {
    if (VariantGroups.isMarked(wanted)) {
      return VariantGroups.isVariant(stored);
    }
    Object kind = wanted.getLogicalTypeAnnotation();
    Object storedKind = stored.getLogicalTypeAnnotation();
    if (!(kind == null ? storedKind == null : kind.equals(storedKind))) {
      return false;
    }
    boolean isStruct = kind == null && !wanted.isRepetition(Type.Repetition.REPEATED);
    if (!isStruct && stored.getFieldCount() != wanted.getFieldCount()) {
      return false;
    }
    for (int at = 0; at < wanted.getFieldCount(); at++) {
      if (!has(stored, wanted.getType(at))) {
        return false;
      }
    }
    return true;
  }

  /** Spark writes moments in INT96 too, and decimals of every precision in bytes, as few as hold them. */
  private static boolean isSameValue(PrimitiveType stored, PrimitiveType wanted) {
    Object kind = stored.getLogicalTypeAnnotation();
    Object wantedKind = wanted.getLogicalTypeAnnotation();
    if (stored.getPrimitiveTypeName() == PrimitiveTypeName.INT96) {
      return kind == null && MICROSECONDS.equals(wantedKind);
    }
    if (!(kind == null ? wantedKind == null : kind.equals(wantedKind))) {
      return false;
    }
    if (kind instanceof DecimalLogicalTypeAnnotation
        && stored.getPrimitiveTypeName() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY) {
      int precision = ((DecimalLogicalTypeAnnotation) kind).getPrecision();
      return stored.getTypeLength() == Decimal.minBytesForPrecision()[precision];
    }
    return stored.getPrimitiveTypeName() == wanted.getPrimitiveTypeName();
  }
}
