package lakescan;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import org.apache.spark.sql.connector.expressions.Cast;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Extract;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Spark's expressions as JSON, so that Python reads all of them in one trip. Only classes whose name says what they do
 * are told; a user's function may be called anything, so it and every other kind is an empty object. Janino compiles
 * this, so types are as they are after erasure.
 */
public final class DescribedExpressions {
  /** Deeper nesting is left to Spark: in Python every step takes some of the stack for each level. */
  private static final int DEEPEST = 60;
  private static final List NAMED = Arrays.asList(new String[] {"Predicate", "Not", "GeneralScalarExpression"});

  private final JsonGenerator json;
  private final int mostValues;

  private DescribedExpressions(StringWriter text, int mostValues) throws IOException {
    this.json = new JsonFactory().createGenerator(text);
    this.mostValues = mostValues;
  }

  /** An IN of more values is not told. */
  public static String of(Object[] expressions, int mostValues) throws IOException {
    StringWriter text = new StringWriter();
    DescribedExpressions described = new DescribedExpressions(text, mostValues);
    described.all(expressions, 0);
    described.json.close();
    return text.toString();
  }

  public static String of(Aggregation aggregation) throws IOException {
    StringWriter text = new StringWriter();
    DescribedExpressions described = new DescribedExpressions(text, Integer.MAX_VALUE);
    described.aggregation(aggregation);
    described.json.close();
    return text.toString();
  }

  private void aggregation(Aggregation aggregation) throws IOException {
    json.writeStartObject();
    json.writeFieldName("keys");
    all(aggregation.groupByExpressions(), 0);
    json.writeArrayFieldStart("functions");
    Expression[] functions = aggregation.aggregateExpressions();
    for (int at = 0; at < functions.length; at++) {
      boolean isDistinct =
          (functions[at] instanceof Count && ((Count) functions[at]).isDistinct())
              || (functions[at] instanceof Sum && ((Sum) functions[at]).isDistinct())
              || (functions[at] instanceof Avg && ((Avg) functions[at]).isDistinct());
      json.writeStartObject();
      json.writeStringField("kind", functions[at].getClass().getSimpleName());
      json.writeBooleanField("distinct", isDistinct);
      json.writeFieldName("of");
      all(functions[at].children(), 0);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private void all(Object[] expressions, int depth) throws IOException {
    json.writeStartArray();
    for (int at = 0; at < expressions.length; at++) {
      one((Expression) expressions[at], depth);
    }
    json.writeEndArray();
  }

  private void one(Expression expression, int depth) throws IOException {
    String kind = expression.getClass().getSimpleName();
    json.writeStartObject();
    if (kind.equals("FieldReference")) {
      column((NamedReference) expression);
    } else if (kind.equals("LiteralValue")) {
      literal((Literal) expression);
    } else if (kind.equals("AlwaysTrue") || kind.equals("AlwaysFalse")) {
      json.writeStringField("type", "\"boolean\"");
      json.writeStringField("value", kind.equals("AlwaysTrue") ? "true" : "false");
    } else if (depth <= DEEPEST) {
      call(expression, kind, depth);
    }
    json.writeEndObject();
  }

  private void column(NamedReference column) throws IOException {
    String[] names = column.fieldNames();
    json.writeArrayFieldStart("column");
    for (int at = 0; at < names.length; at++) {
      json.writeString(names[at]);
    }
    json.writeEndArray();
  }

  private void literal(Literal literal) throws IOException {
    if (isTold(literal)) {
      json.writeStringField("type", literal.dataType().json());
      json.writeFieldName("value");
      value(literal.value());
    }
  }

  private void call(Expression expression, String kind, int depth) throws IOException {
    if (kind.equals("And") || kind.equals("Or")) {
      call(kind.equals("And") ? "AND" : "OR", chain(expression, kind), depth);
    } else if (kind.equals("Cast")) {
      json.writeStringField("type", ((Cast) expression).dataType().json());
      call("CAST", new Expression[] {((Cast) expression).expression()}, depth);
    } else if (kind.equals("Extract")) {
      call(((Extract) expression).field(), new Expression[] {((Extract) expression).source()}, depth);
    } else if (NAMED.contains(kind)) {
      // Predicates are such expressions, and have their names from there.
      named(((GeneralScalarExpression) expression).name(), expression.children(), depth);
    }
  }

  private void named(String name, Expression[] children, int depth) throws IOException {
    if (name.equals("IN") && children.length - 1 > mostValues) {
      return;
    }
    if (name.equals("IN") && areOfOneType(children)) {
      json.writeStringField("type", ((Literal) children[1]).dataType().json());
      json.writeArrayFieldStart("values");
      for (int at = 1; at < children.length; at++) {
        value(((Literal) children[at]).value());
      }
      json.writeEndArray();
      call(name, new Expression[] {children[0]}, depth);
    } else {
      call(name, children, depth);
    }
  }

  private void call(String name, Object[] parts, int depth) throws IOException {
    json.writeStringField("call", name);
    json.writeFieldName("of");
    all(parts, depth + 1);
  }

  /** The parts of which an expression is the AND or OR, in order: a chain made in a loop nests a level for each. */
  private static Object[] chain(Expression expression, String kind) {
    ArrayList parts = new ArrayList();
    ArrayDeque pending = new ArrayDeque();
    pending.push(expression);
    while (!pending.isEmpty()) {
      Expression part = (Expression) pending.pop();
      Expression[] children = part.children();
      if (part.getClass().getSimpleName().equals(kind)) {
        for (int at = children.length - 1; at >= 0; at--) {
          pending.push(children[at]);
        }
      } else {
        parts.add(part);
      }
    }
    return parts.toArray();
  }

  /** Whether all but the first are literals that can be told, of one type. */
  private static boolean areOfOneType(Expression[] children) {
    DataType type = null;
    for (int at = 1; at < children.length; at++) {
      if (!children[at].getClass().getSimpleName().equals("LiteralValue") || !isTold((Literal) children[at])) {
        return false;
      }
      DataType own = ((Literal) children[at]).dataType();
      if (type != null && !type.equals(own)) {
        return false;
      }
      type = own;
    }
    return type != null;
  }

  /** Bytes that are no text cannot be told as one. */
  private static boolean isTold(Literal literal) {
    Object value = literal.value();
    if (!(value instanceof UTF8String)) {
      return true;
    }
    byte[] bytes = ((UTF8String) value).getBytes();
    return Arrays.equals(new String(bytes, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8), bytes);
  }

  private void value(Object value) throws IOException {
    if (value == null) {
      json.writeNull();
    } else if (value instanceof byte[]) {
      json.writeString(Base64.getEncoder().encodeToString((byte[]) value));
    } else {
      json.writeString(value.toString());
    }
  }
}
