package lakescan;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.rdd.InputFileBlockHolder$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Pieces of files whose rows are wanted as they are stored, decoded by Spark's own vectorized Parquet reader in the
 * executor itself. Only files that hold the wanted columns as Spark would have written them are opened: in any other
 * Spark might see another value than Arrow does. Rows come in the order in which a worker would send them.
 */
public final class PlainFiles implements PartitionReader {
  private static final int ROWS_IN_A_BATCH = 4096;
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

  private final TaskAttemptContext context;
  private final StructType partitions;
  private final int[] places;
  private final Iterator pieces;
  private Rows rows;
  private ColumnarBatch current;

  private PlainFiles(Configuration settings, StructType partitions, int[] places, List pieces) {
    this.context = new TaskAttemptContextImpl(settings, new TaskAttemptID());
    this.partitions = partitions;
    this.places = places;
    this.pieces = pieces.iterator();
  }

  /**
   * A reader of pieces (an Arrow stream: path, first byte, length, what the log says of the file's size and number of
   * rows, partition values), null where a file does not hold its columns as Spark would have written them. Column `at` of a batch is column `places[at]` of the stored ones
   * and, behind them, the partition's.
   */
  public static PlainFiles open(byte[] pieces, StructType stored, StructType partitions, int[] places)
      throws IOException {
    Configuration settings = settings(stored);
    MessageType wanted = asWritten(stored);
    List found = pieces(pieces);
    for (int at = 0; at < found.size(); at++) {
      Piece piece = (Piece) found.get(at);
      // Options that are not made of settings would be made of all that Hadoop finds in XML files, for each file.
      ParquetReadOptions options = HadoopReadOptions.builder(settings, piece.path).build();
      piece.check(new File(piece.path.toUri().getPath()));
      ParquetFileReader file = ParquetFileReader.open(HadoopInputFile.fromPath(piece.path, settings), options);
      try {
        ParquetMetadata footer = file.getFooter();
        if (isOfAnotherCalendar(footer) || !holds(footer, wanted)) {
          return null;
        }
        piece.count(footer.getBlocks());
      } finally {
        file.close();
      }
    }
    return new PlainFiles(settings, partitions, places, found);
  }

  public boolean next() throws IOException {
    while (rows == null || !rows.nextKeyValue()) {
      close();
      if (!pieces.hasNext()) {
        InputFileBlockHolder$.MODULE$.unset();
        return false;
      }
      Piece piece = (Piece) pieces.next();
      if (piece.rows > 0) {
        rows = rowsOf(piece);
        // For input_file_name(), as Spark's own readers do.
        InputFileBlockHolder$.MODULE$.set(piece.path.toUri().toString(), piece.start, piece.length);
      }
    }
    ColumnarBatch batch = (ColumnarBatch) rows.getCurrentValue();
    ColumnVector[] columns = new ColumnVector[places.length];
    for (int at = 0; at < columns.length; at++) {
      columns[at] = batch.column(places[at]);
    }
    current = new ColumnarBatch(columns, batch.numRows());
    return true;
  }

  public Object get() {
    return current;
  }

  public void close() throws IOException {
    if (rows != null) {
      rows.close();
      rows = null;
    }
  }

  private Rows rowsOf(Piece piece) throws IOException {
    Rows opened = new Rows();
    try {
      FileSplit split = new FileSplit(piece.path, piece.start, piece.length, new String[0]);
      opened.initialize(split, context);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException(interrupted);
    }
    if (opened.total() != piece.rows) {
      opened.close();
      throw new IOException(piece.path + ": its row groups are not where their sizes say");
    }
    opened.initBatch(partitions, piece.partition);
    opened.enableReturningBatches();
    return opened;
  }

  private static boolean isOfAnotherCalendar(ParquetMetadata footer) {
    java.util.Map notes = footer.getFileMetaData().getKeyValueMetaData();
    String version = (String) notes.get("org.apache.spark.version");
    return notes.containsKey("org.apache.spark.legacyDateTime")
        || notes.containsKey("org.apache.spark.legacyINT96")
        || (version != null && version.compareTo("3.1.0") < 0);
  }

  private static boolean holds(ParquetMetadata footer, MessageType wanted) {
    List columns = footer.getFileMetaData().getSchema().getFields();
    Set names = new HashSet();
    for (int at = 0; at < wanted.getFieldCount(); at++) {
      Type column = wanted.getType(at);
      names.add(column.getName());
      int matches = 0;
      for (int other = 0; other < columns.size(); other++) {
        Type stored = (Type) columns.get(other);
        matches += stored.getName().equals(column.getName()) ? (isSame(stored, column) ? 1 : 2) : 0;
      }
      if (matches != 1) {
        return false;
      }
    }
    List groups = footer.getBlocks();
    for (int at = 0; at < groups.size(); at++) {
      long rows = ((BlockMetaData) groups.get(at)).getRowCount();
      List chunks = ((BlockMetaData) groups.get(at)).getColumns();
      for (int chunk = 0; chunk < chunks.size(); chunk++) {
        ColumnChunkMetaData data = (ColumnChunkMetaData) chunks.get(chunk);
        boolean read = names.contains(data.getPath().toArray()[0]);
        if (read && !(CODECS.contains(data.getCodec()) && ENCODINGS.containsAll(data.getEncodings()))) {
          return false;
        }
        if (read && data.getValueCount() != rows) {
          return false;
        }
      }
    }
    return true;
  }

  /** Spark writes moments in INT96 too, and decimals of every precision in bytes, as few as hold them. */
  private static boolean isSame(Type stored, Type wanted) {
    if (!stored.isPrimitive() || stored.isRepetition(Type.Repetition.REPEATED)) {
      return false;
    }
    if (wanted.isRepetition(Type.Repetition.REQUIRED) && !stored.isRepetition(Type.Repetition.REQUIRED)) {
      return false;
    }
    PrimitiveType found = stored.asPrimitiveType();
    PrimitiveType written = wanted.asPrimitiveType();
    Object kind = found.getLogicalTypeAnnotation();
    Object writtenKind = written.getLogicalTypeAnnotation();
    if (found.getPrimitiveTypeName() == PrimitiveTypeName.INT96) {
      return kind == null && MICROSECONDS.equals(writtenKind);
    }
    if (!(kind == null ? writtenKind == null : kind.equals(writtenKind))) {
      return false;
    }
    if (kind instanceof DecimalLogicalTypeAnnotation
        && found.getPrimitiveTypeName() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY) {
      int precision = ((DecimalLogicalTypeAnnotation) kind).getPrecision();
      return found.getTypeLength() == Decimal.minBytesForPrecision()[precision];
    }
    return found.getPrimitiveTypeName() == written.getPrimitiveTypeName();
  }

  /** The columns as Spark writes them, whatever the session says. */
  private static MessageType asWritten(StructType stored) {
    SQLConf conf = new SQLConf();
    conf.setConfString("spark.sql.parquet.writeLegacyFormat", "false");
    conf.setConfString("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS");
    return new SparkToParquetSchemaConverter(conf).convert(stored);
  }

  /** What Spark's reader takes from a session, here the same in all: the answer must not hang on it. */
  private static Configuration settings(StructType stored) {
    Configuration found = new Configuration(SparkHadoopUtil.get().conf());
    found.set("org.apache.spark.sql.parquet.row.requested_schema", stored.json());
    found.set(
        "parquet.read.support.class", "org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport");
    found.setBoolean("spark.sql.caseSensitive", true);
    found.setBoolean("spark.sql.parquet.binaryAsString", false);
    found.setBoolean("spark.sql.parquet.int96AsTimestamp", true);
    found.setBoolean("spark.sql.parquet.inferTimestampNTZ.enabled", true);
    found.setBoolean("spark.sql.legacy.parquet.nanosAsLong", false);
    found.setBoolean("spark.sql.parquet.fieldId.read.enabled", false);
    found.setBoolean("parquet.page.verify-checksum.enabled", true);
    return found;
  }

  private static List pieces(byte[] stream) throws IOException {
    BufferAllocator memory =
        ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("lakescan pieces", 0, Long.MAX_VALUE);
    ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), memory);
    List found = new ArrayList();
    try {
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      while (reader.loadNextBatch()) {
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int at = 0; at < columns.length; at++) {
          columns[at] = new ArrowColumnVector((FieldVector) vectors.get(at));
        }
        ColumnVector[] partition = (ColumnVector[]) Arrays.copyOfRange(columns, 5, columns.length);
        ColumnarBatch values = new ColumnarBatch(partition, root.getRowCount());
        for (int row = 0; row < root.getRowCount(); row++) {
          Path path = new Path("file", null, columns[0].getUTF8String(row).toString());
          Piece piece = new Piece(path, columns[1].getLong(row), columns[2].getLong(row), values.getRow(row).copy());
          piece.saidSize = columns[3].isNullAt(row) ? 0 : columns[3].getLong(row);
          piece.saidRows = columns[4].isNullAt(row) ? -1 : columns[4].getLong(row);
          found.add(piece);
        }
      }
    } finally {
      reader.close();
      memory.close();
    }
    return found;
  }

  /** Bytes of a file, and how many rows begin in them: a row group's middle says to which piece it belongs. */
  private static final class Piece {
    final Path path;
    final long start;
    final long length;
    final InternalRow partition;
    /** As the log has it, zero and less than zero where it does not. */
    long saidSize;
    long saidRows;
    long rows;

    Piece(Path path, long start, long length, InternalRow partition) {
      this.path = path;
      this.start = start;
      this.length = length;
      this.partition = partition;
    }

    /** Whoever opens a pipe waits until somebody writes to it; a file of another size is another file. */
    void check(File file) throws IOException {
      if (!file.isFile() || (saidSize != 0 && saidSize != file.length())) {
        throw new IOException(path + " is not the file that the log speaks of");
      }
    }

    void count(List groups) throws IOException {
      long all = 0;
      for (int at = 0; at < groups.size(); at++) {
        BlockMetaData group = (BlockMetaData) groups.get(at);
        all += group.getRowCount();
        long middle = group.getStartingPos() + group.getCompressedSize() / 2;
        rows += start <= middle && middle - start < length ? group.getRowCount() : 0;
      }
      if (saidRows >= 0 && saidRows != all) {
        throw new IOException(path + " has " + all + " rows and the log says " + saidRows);
      }
    }
  }

  /** Dates and times are in one calendar, as {@link #open} makes sure. */
  private static final class Rows extends VectorizedParquetRecordReader {
    Rows() {
      super(null, "CORRECTED", "UTC", "CORRECTED", "UTC", false, ROWS_IN_A_BATCH);
    }

    long total() {
      return totalRowCount;
    }
  }
}
