package lakescan;

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;

import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * The arrays in which Spark's vectors have a value for each row. They are private to Spark: where a release has others
 * they are not known, and whoever asks has to do without.
 */
public final class VectorArrays {
  private static final Object[] NONE = new Object[0];
  private static final Field[] VALUES = {
    field("intData"),
    field("longData"),
    field("doubleData"),
    field("byteData"),
    field("shortData"),
    field("floatData")
  };
  private static final Field OFFSETS = field("arrayOffsets");
  private static final Field LENGTHS = field("arrayLengths");
  private static final Field NULLS = field("nulls");
  private static final boolean ARE_FOUND = areFound();

  private VectorArrays() {}

  public static boolean areKnown(ColumnVector vector) {
    return ARE_FOUND && vector instanceof OnHeapColumnVector;
  }

  /** Of a text, an array or a map where its elements are, in two; of a struct none. */
  public static Object[] of(ColumnVector vector) {
    for (int at = 0; at < VALUES.length; at++) {
      Object values = in(VALUES[at], vector);
      if (values != null) {
        return new Object[] {values};
      }
    }
    Object offsets = in(OFFSETS, vector);
    return offsets == null ? NONE : new Object[] {offsets, in(LENGTHS, vector)};
  }

  /** A byte for each row, 1 where it is null. */
  public static Object nulls(ColumnVector vector) {
    return in(NULLS, vector);
  }

  private static Object in(Field field, ColumnVector vector) {
    try {
      return field.get(vector);
    } catch (IllegalAccessException closed) {
      throw new IllegalStateException(closed);
    }
  }

  private static Field field(String name) {
    try {
      Field field = OnHeapColumnVector.class.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException other) {
      return null;
    } catch (InaccessibleObjectException closed) {
      return null;
    }
  }

  private static boolean areFound() {
    boolean found = OFFSETS != null && LENGTHS != null && NULLS != null;
    for (int at = 0; at < VALUES.length; at++) {
      found &= VALUES[at] != null;
    }
    return found;
  }
}
