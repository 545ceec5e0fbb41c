package lakescan;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.zip.CRC32;

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
  public static byte[] stored(File file, long offset, long size) throws IOException {
    // Whoever opens a pipe waits until somebody writes to it.
    if (!file.isFile() || size < 0 || size > Integer.MAX_VALUE - 8) {
      throw new IOException(file + " cannot hold a deletion vector of " + size + " bytes");
    }
    RandomAccessFile opened = new RandomAccessFile(file, "r");
    try {
      int format = opened.read();
      opened.seek(offset);
      if (format != FORMAT || opened.readInt() != size || opened.length() - offset < size + 8) {
        throw new IOException(file + " has no deletion vector of " + size + " bytes at " + offset);
      }
      byte[] vector = new byte[(int) size];
      opened.readFully(vector);
      CRC32 sum = new CRC32();
      sum.update(vector, 0, vector.length);
      if ((int) sum.getValue() != opened.readInt()) {
        throw new IOException(file + " has a deletion vector at " + offset + " with another checksum");
      }
      return vector;
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
      int total = 0;
      int at = 0;
      int[] rows = into.rows;
      deleted.advanceIfNeeded((int) first);
      while (deleted.hasNext() && deleted.peekNext() < first + count) {
        int gone = (int) (deleted.next() - first);
        while (at < gone) {
          rows[total++] = at++;
        }
        at = gone + 1;
      }
      while (at < count) {
        rows[total++] = at++;
      }
      into.count = total;
    }

    /** Selects those of `count` rows that are left; `positions` has their places in the file, in order. */
    public void select(ColumnVector positions, int count, Selection into) {
      into.count = 0;
      for (int at = 0; at < count; at++) {
        int position = (int) positions.getLong(at);
        deleted.advanceIfNeeded(position);
        if (!deleted.hasNext() || deleted.peekNext() != position) {
          into.rows[into.count++] = at;
        }
      }
    }
  }
}
