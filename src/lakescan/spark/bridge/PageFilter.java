package lakescan;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.compat.RowGroupFilter;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexFilter;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.jdk.javaapi.CollectionConverters;

/**
 * What a filter implies for the row groups and pages of a file: all that may hold a row for which it is true are read.
 * Only what has one order in every file says anything: whole numbers, dates, moments, short decimals, text and bytes.
 * Floating-point numbers do not, since NaN hides from bounds; nor does a NOT, but of a null.
 */
public final class PageFilter {
  /** Of more values Parquet looks at the least and the greatest alone. */
  private static final int MOST_VALUES = 32;
  private static final List LEVELS =
      Arrays.asList(
          new Object[] {RowGroupFilter.FilterLevel.STATISTICS, RowGroupFilter.FilterLevel.BLOOMFILTER});

  private final StructType columns;
  private final MessageType file;

  private PageFilter(StructType columns, MessageType file) {
    this.columns = columns;
    this.file = file;
  }

  /** Null where nothing is implied; `columns` are those that the expression's references count. */
  public static FilterPredicate of(Expression filter, StructType columns, MessageType file) {
    return filter == null ? null : new PageFilter(columns, file).implied(filter);
  }

  /**
   * Whether the bounds of row groups and pages, and Bloom filters, leave no more than half of a piece's rows to be
   * read. Dictionaries would have to be decoded to say anything. `columns` are those that are read.
   */
  public static boolean skipsHalf(FilterPredicate pages, StructType columns, ParquetFileReader file, FilePiece piece)
      throws IOException {
    // Where the pages of a column are is read for each that is asked for, and a file may have thousands.
    MessageType whole = file.getFooter().getFileMetaData().getSchema();
    List asked = new ArrayList();
    for (int at = 0; at < columns.length(); at++) {
      if (whole.containsField(columns.apply(at).name())) {
        asked.add(whole.getType(columns.apply(at).name()));
      }
    }
    file.setRequestedSchema(new MessageType(whole.getName(), asked));
    List groups = file.getFooter().getBlocks();
    FilterCompat.Filter filter = FilterCompat.get(pages);
    int[] own = FilePiece.groupsIn(groups, piece.start, piece.length);
    long rows = 0;
    long left = 0;
    for (int at = 0; at < own.length; at++) {
      BlockMetaData group = (BlockMetaData) groups.get(own[at]);
      rows += group.getRowCount();
      if (!RowGroupFilter.filterRowGroups(LEVELS, filter, Collections.singletonList(group), file).isEmpty()) {
        left += rowsLeft(filter, file, own[at], group);
      }
    }
    return left * 2 <= rows;
  }

  private static long rowsLeft(FilterCompat.Filter filter, ParquetFileReader file, int at, BlockMetaData group) {
    Set paths = new HashSet();
    Iterator columns = group.getColumns().iterator();
    while (columns.hasNext()) {
      paths.add(((ColumnChunkMetaData) columns.next()).getPath());
    }
    return ColumnIndexFilter.calculateRowRanges(filter, file.getColumnIndexStore(at), paths, group.getRowCount())
        .rowCount();
  }

  private FilterPredicate implied(Expression filter) {
    if (filter instanceof And) {
      FilterPredicate left = implied((Expression) ((And) filter).left());
      FilterPredicate right = implied((Expression) ((And) filter).right());
      return left == null ? right : right == null ? left : FilterApi.and(left, right);
    } else if (filter instanceof Or) {
      FilterPredicate left = implied((Expression) ((Or) filter).left());
      FilterPredicate right = implied((Expression) ((Or) filter).right());
      return left == null || right == null ? null : FilterApi.or(left, right);
    } else if (filter instanceof IsNull) {
      return compared("eq", (Expression) ((IsNull) filter).child(), null);
    } else if (filter instanceof Not) {
      Expression child = (Expression) ((Not) filter).child();
      return child instanceof IsNull ? compared("notEq", (Expression) ((IsNull) child).child(), null) : null;
    } else if (filter instanceof In) {
      return in((In) filter);
    } else if (filter instanceof StartsWith) {
      return startsWith((Expression) ((StartsWith) filter).left(), (Expression) ((StartsWith) filter).right());
    } else if (filter instanceof BinaryComparison && ((BinaryComparison) filter).right() instanceof Literal) {
      Expression column = (Expression) ((BinaryComparison) filter).left();
      Object value = ((Literal) ((BinaryComparison) filter).right()).value();
      if (value == null) {
        return filter instanceof EqualNullSafe ? compared("eq", column, null) : null;
      }
      Object stored = stored(column, value);
      return stored == null ? null : compared(nameOf(filter), column, stored);
    }
    return null;
  }

  private static String nameOf(Expression comparison) {
    if (comparison instanceof EqualTo || comparison instanceof EqualNullSafe) {
      return "eq";
    } else if (comparison instanceof LessThan) {
      return "lt";
    } else if (comparison instanceof GreaterThan) {
      return "gt";
    }
    return comparison instanceof GreaterThanOrEqual ? "gtEq" : "ltEq";
  }

  private FilterPredicate in(In filter) {
    Set values = new HashSet();
    Iterator given = CollectionConverters.asJava(filter.list()).iterator();
    while (given.hasNext()) {
      Object value = ((Literal) given.next()).value();
      Object stored = value == null ? null : stored(filter.value(), value);
      if (value != null && stored == null) {
        return null;
      }
      if (stored != null) {
        values.add(stored);
      }
    }
    if (values.size() > MOST_VALUES) {
      return compared("in", filter.value(), values);
    }
    FilterPredicate either = null;
    Iterator each = values.iterator();
    while (each.hasNext()) {
      FilterPredicate one = compared("eq", filter.value(), each.next());
      either = either == null ? one : FilterApi.or(either, one);
    }
    return either;
  }

  /** From the prefix on to what comes after all that begins with it: the prefix with its last byte one higher. */
  private FilterPredicate startsWith(Expression column, Expression prefix) {
    byte[] first = ((UTF8String) ((Literal) prefix).value()).getBytes();
    if (first.length == 0 || kindOf(column) != PrimitiveTypeName.BINARY) {
      return null;
    }
    byte[] behind = (byte[]) first.clone();
    // No byte of UTF-8 is 255.
    behind[behind.length - 1]++;
    return FilterApi.and(
        compared("gtEq", column, Binary.fromConstantByteArray(first)),
        compared("lt", column, Binary.fromConstantByteArray(behind)));
  }

  /** The kind of the values that the file has, null for all whose order is not one and the same. */
  private PrimitiveTypeName kindOf(Expression column) {
    if (!(column instanceof BoundReference) || ((BoundReference) column).ordinal() >= columns.length()) {
      return null;
    }
    String name = columns.apply(((BoundReference) column).ordinal()).name();
    // A dot would lead into a struct.
    if (name.indexOf('.') >= 0 || !file.containsField(name) || !file.getType(name).isPrimitive()) {
      return null;
    }
    PrimitiveTypeName kind = file.getType(name).asPrimitiveType().getPrimitiveTypeName();
    boolean ordered =
        kind == PrimitiveTypeName.INT32 || kind == PrimitiveTypeName.INT64 || kind == PrimitiveTypeName.BINARY;
    return ordered ? kind : null;
  }

  /** A value of Spark's as the file has it, null where it says nothing. */
  private Object stored(Expression column, Object value) {
    PrimitiveTypeName kind = kindOf(column);
    if (kind == PrimitiveTypeName.BINARY) {
      byte[] bytes = value instanceof UTF8String ? ((UTF8String) value).getBytes() : (byte[]) value;
      return Binary.fromConstantByteArray(bytes);
    } else if (kind == null) {
      return null;
    }
    long number = value instanceof Decimal ? ((Decimal) value).toUnscaledLong() : ((Number) value).longValue();
    return kind == PrimitiveTypeName.INT32 ? (Object) Integer.valueOf((int) number) : (Object) Long.valueOf(number);
  }

  /** By name: the methods' types differ by column, and are not to be told without generics. */
  private FilterPredicate compared(String how, Expression column, Object value) {
    PrimitiveTypeName kind = kindOf(column);
    if (kind == null) {
      return null;
    }
    String name = columns.apply(((BoundReference) column).ordinal()).name();
    Object operand =
        kind == PrimitiveTypeName.INT32
            ? (Object) FilterApi.intColumn(name)
            : kind == PrimitiveTypeName.INT64 ? (Object) FilterApi.longColumn(name) : FilterApi.binaryColumn(name);
    Method[] methods = FilterApi.class.getMethods();
    for (int at = 0; at < methods.length; at++) {
      if (methods[at].getName().equals(how) && methods[at].getParameterCount() == 2) {
        try {
          return (FilterPredicate) methods[at].invoke(null, new Object[] {operand, value});
        } catch (ReflectiveOperationException error) {
          throw new IllegalStateException("Parquet has no filter " + how, error);
        }
      }
    }
    throw new IllegalStateException("Parquet has no filter " + how);
  }
}
