package lakescan;

import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;

/**
 * A table function of a session that Python answers with a plan. Its arguments are constants, which Python gets as text,
 * each with its type before a colon: `string:orders`, `int:5`, `timestamp:1700000000000000`.
 */
public final class TableFunction extends AbstractFunction1 {
  private final String name;
  private final UDF1 python;

  public TableFunction(String name, UDF1 python) {
    this.name = name;
    this.python = python;
  }

  public Object apply(Object arguments) {
    Seq given = (Seq) arguments;
    String[] texts = new String[given.size()];
    for (int at = 0; at < texts.length; at++) {
      Expression argument = (Expression) given.apply(at);
      if (!argument.foldable()) {
        throw new IllegalArgumentException(name + " takes constants: " + argument.sql() + " is none.");
      }
      Object value = argument.eval(InternalRow$.MODULE$.empty());
      texts[at] = argument.dataType().typeName() + ":" + value;
    }
    try {
      return python.call(texts);
    } catch (RuntimeException failed) {
      throw failed;
    } catch (Exception failed) {
      throw new IllegalStateException(failed);
    }
  }
}
