package lakescan;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.zip.CRC32;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/**
 * The rows of a file that a deletion vector names. All that can be checked of a vector is checked here, as a worker
 * would; one that is not as it should be is an exception, and a worker says what is wrong with it.
 */
public final class DeletedRows {
  private static final int FORMAT = 1;
  private static final int MAGIC = 1681511377;
  /** An array has no more, with a size, a checksum and a format around the vector. */
  private static final long MOST_BYTES = Integer.MAX_VALUE - 64;

  private final RoaringBitmap bitmap;
  private final long last;

  /** A vector of `size` bytes that names so many rows. */
  public DeletedRows(byte[] vector, long size, long rows) throws IOException {
    if (vector.length != size) {
      throw new IOException("a deletion vector has " + vector.length + " bytes and not " + size);
    }
    bitmap = bitmap(vector);
    PeekableIntIterator positions = bitmap.getIntIterator();
    long before = -1;
    long count = 0;
    while (positions.hasNext()) {
      int position = positions.next();
      if (position <= before) {
        throw new IOException("a deletion vector names rows out of order, or a row after the two thousand millionth");
      }
      before = position;
      count++;
    }
    if (count != rows) {
      throw new IOException("a deletion vector names " + count + " rows and not " + rows);
    }
    last = before;
  }

  /** The bytes of a vector that is stored in a file behind its size and before its checksum. */
  public static byte[] stored(String file, long offset, long size, Configuration settings) throws IOException {
    if (size < 0 || size > MOST_BYTES) {
      throw new IOException(file + " cannot hold a deletion vector of " + size + " bytes");
    }
    int length = (int) size + 8;
    byte[] read =
        file.startsWith("/")
            ? read(new File(file), offset, length)
            : StoreFiles.read(StoreFiles.pathOf(file), settings, offset, length);
    DataInputStream input = new DataInputStream(new ByteArrayInputStream(read));
    if (input.read() != FORMAT || input.readInt() != size) {
      throw new IOException(file + " has no deletion vector of " + size + " bytes at " + offset);
    }
    byte[] vector = new byte[(int) size];
    input.readFully(vector);
    CRC32 sum = new CRC32();
    sum.update(vector, 0, vector.length);
    if ((int) sum.getValue() != input.readInt()) {
      throw new IOException(file + " has a deletion vector at " + offset + " with another checksum");
    }
    return vector;
  }

  /** Some bytes of a file, and before them its first. */
  private static byte[] read(File file, long offset, int length) throws IOException {
    // Whoever opens a pipe waits until somebody writes to it.
    if (!file.isFile() || file.length() - offset < length) {
      throw new IOException(file + " ends before byte " + (offset + length));
    }
    RandomAccessFile opened = new RandomAccessFile(file, "r");
    try {
      byte[] bytes = new byte[1 + length];
      opened.readFully(bytes, 0, 1);
      opened.seek(offset);
      opened.readFully(bytes, 1, length);
      return bytes;
    } finally {
      opened.close();
    }
  }

  /** A vector that names a row that the file does not have is another file's. */
  public void checkRows(long rowsOfFile) throws IOException {
    if (last >= rowsOfFile || rowsOfFile > Integer.MAX_VALUE) {
      throw new IOException("a deletion vector names row " + last + " of a file with " + rowsOfFile);
    }
  }

  public Live live() {
    return new Live(bitmap.getIntIterator());
  }

  /** A 64-bit bitmap, of which only the first 32-bit one may be there: no file has more rows. */
  private static RoaringBitmap bitmap(byte[] vector) throws IOException {
    DataInputStream input = new DataInputStream(new ByteArrayInputStream(vector));
    RoaringBitmap positions = new RoaringBitmap();
    if (Integer.reverseBytes(input.readInt()) != MAGIC) {
      throw new IOException("a deletion vector does not begin with its magic number");
    }
    long parts = Long.reverseBytes(input.readLong());
    if (parts == 0) {
      return positions;
    }
    if (parts != 1 || input.readInt() != 0) {
      throw new IOException("a deletion vector names rows that no file has");
    }
    positions.deserialize(input);
    return positions;
  }

  /** The rows that are left, asked for from the file's first row to its last. */
  public static final class Live {
    private final PeekableIntIterator deleted;

    Live(PeekableIntIterator deleted) {
      this.deleted = deleted;
    }

    /** Selects those of `count` rows from `first` of the file on that are left; numbers count from `first`. */
    public void select(long first, int count, Selection into) {
      int at = 0;
      deleted.advanceIfNeeded((int) first);
      while (deleted.hasNext() && deleted.peekNext() < first + count) {
        int gone = (int) (deleted.next() - first);
        into.add(at, gone - at);
        at = gone + 1;
      }
      into.add(at, count - at);
    }

    /** Selects those of `count` rows that are left; `positions` has their places in the file, in order. */
    public void select(ColumnVector positions, int count, Selection into) {
      for (int at = 0; at < count; at++) {
        int position = (int) positions.getLong(at);
        deleted.advanceIfNeeded(position);
        if (!deleted.hasNext() || deleted.peekNext() != position) {
          into.add(at, 1);
        }
      }
    }
  }
}
