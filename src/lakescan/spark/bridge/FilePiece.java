package lakescan;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Bytes of a file that a task reads, the file's partition values, and what the log says of the file. */
public final class FilePiece {
  private static final int PARTITION = 10;

  /** Null where only a worker can read the file. */
  public final Path path;
  public final long start;
  public final long length;
  public final InternalRow partition;
  /** As the log has it, zero and less than zero where it does not. */
  private final long saidSize;
  private final long saidRows;
  /** Where the deletion vector is, a file or the vector itself; neither where all rows of the file are wanted. */
  private final String vectorFile;
  private final byte[] vector;
  private long vectorOffset;
  private long vectorSize;
  private long vectorRows;

  private FilePiece(ColumnVector[] columns, int row, InternalRow partition) {
    this.path = columns[0].isNullAt(row) ? null : StoreFiles.pathOf(columns[0].getUTF8String(row).toString());
    this.start = columns[1].getLong(row);
    this.length = columns[2].getLong(row);
    this.saidSize = columns[3].isNullAt(row) ? 0 : columns[3].getLong(row);
    this.saidRows = columns[4].isNullAt(row) ? -1 : columns[4].getLong(row);
    this.vectorFile = columns[5].isNullAt(row) ? null : columns[5].getUTF8String(row).toString();
    this.vector = columns[6].isNullAt(row) ? null : columns[6].getBinary(row);
    if (vectorFile != null || vector != null) {
      this.vectorOffset = columns[7].getLong(row);
      this.vectorSize = columns[8].getLong(row);
      this.vectorRows = columns[9].getLong(row);
    }
    this.partition = partition;
  }

  /** The bytes of the piece; the last piece of a file is planned without an end. */
  public long blockLength() {
    return saidSize > 0 ? Math.min(length, saidSize - start) : length;
  }

  /**
   * Some of the pieces of an Arrow stream of one batch: path, first byte, length, the file's size and number of rows, the deletion
   * vector's file or its bytes, its offset, size and number of rows, partition values.
   */
  public static List of(byte[] stream, int first, int pieces) throws IOException {
    BufferAllocator memory =
        ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("lakescan pieces", 0, Long.MAX_VALUE);
    ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), memory);
    List made = new ArrayList();
    try {
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      if (reader.loadNextBatch()) {
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int at = 0; at < columns.length; at++) {
          columns[at] = new ArrowColumnVector((FieldVector) vectors.get(at));
        }
        ColumnVector[] partition = (ColumnVector[]) Arrays.copyOfRange(columns, PARTITION, columns.length);
        ColumnarBatch values = new ColumnarBatch(partition, root.getRowCount());
        for (int row = first; row < root.getRowCount() && row - first < pieces; row++) {
          made.add(new FilePiece(columns, row, values.getRow(row).copy()));
        }
      }
    } finally {
      reader.close();
      memory.close();
    }
    return made;
  }

  /** The file. Whoever opens a pipe waits until somebody writes to it; a file of another size is another file. */
  public HadoopInputFile file(Configuration settings) throws IOException {
    if (StoreFiles.isInStore(path)) {
      FileStatus file = StoreFiles.look(path, settings);
      checkSize(file.isFile(), file.getLen());
      return HadoopInputFile.fromStatus(file, settings);
    }
    File file = new File(path.toUri().getPath());
    checkSize(file.isFile(), file.length());
    return HadoopInputFile.fromPath(path, settings);
  }

  private void checkSize(boolean isFile, long size) throws IOException {
    if (!isFile || (saidSize != 0 && saidSize != size)) {
      throw new IOException(path + " is not the file that the log speaks of");
    }
  }

  public void checkRows(long rows) throws IOException {
    if (saidRows >= 0 && saidRows != rows) {
      throw new IOException(path + " has " + rows + " rows and the log says " + saidRows);
    }
  }

  /** Which of the file's rows are not wanted, null where all are. */
  public DeletedRows deletedRows(long rows, Configuration settings) throws IOException {
    if (vectorFile == null && vector == null) {
      return null;
    }
    // What stands in the log is filled up to whole words.
    byte[] bytes =
        vector != null
            ? Arrays.copyOf(vector, (int) Math.max(0, Math.min(vector.length, vectorSize)))
            : DeletedRows.stored(vectorFile, vectorOffset, vectorSize, settings);
    DeletedRows deleted = new DeletedRows(bytes, vectorSize, vectorRows);
    deleted.checkRows(rows);
    return deleted;
  }

  public static long rowsOf(List groups) {
    long all = 0;
    for (int at = 0; at < groups.size(); at++) {
      all += ((BlockMetaData) groups.get(at)).getRowCount();
    }
    return all;
  }

  /** The row groups of a file, by number, that belong to a piece of it: those whose middle byte is in the piece. */
  public static int[] groupsIn(List groups, long start, long length) {
    int[] own = new int[groups.size()];
    int count = 0;
    for (int at = 0; at < groups.size(); at++) {
      BlockMetaData group = (BlockMetaData) groups.get(at);
      long middle = group.getStartingPos() + group.getCompressedSize() / 2;
      if (start <= middle && middle - start < length) {
        own[count++] = at;
      }
    }
    return Arrays.copyOf(own, count);
  }
}
