package lakescan;

import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog that Spark makes itself, by the name of its class in a session's settings; Python makes what is behind it, of
 * the same settings, when it is first asked for something. Python names the class `LakeCatalog`.
 */
public class ServedCatalog implements TableCatalog, SupportsNamespaces {
  private static volatile UDF2 maker;

  private String name;
  private CaseInsensitiveStringMap options;
  private TableCatalog made;

  /** From now on catalogs are made by this function of a name and options. */
  public static void serve(UDF2 python) {
    maker = python;
  }

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.options = options;
  }

  public String name() {
    return name;
  }

  /** What Python made. */
  public synchronized TableCatalog python() {
    if (made == null) {
      try {
        if (maker == null) {
          // Of a driver that is not Python, whose JAR has this class.
          Class beside = Class.forName("lakescan.PythonBeside", true, ServedCatalog.class.getClassLoader());
          beside.getMethod("start", new Class[0]).invoke(null, new Object[0]);
        }
        made = (TableCatalog) maker.call(name, options);
      } catch (ClassNotFoundException missing) {
        throw new IllegalStateException("Nobody serves the catalog " + name + ": call lakescan.install(spark).", missing);
      } catch (InvocationTargetException failed) {
        throw (RuntimeException) failed.getCause();
      } catch (RuntimeException failed) {
        throw failed;
      } catch (Exception failed) {
        throw new IllegalStateException(failed);
      }
    }
    return made;
  }

  private SupportsNamespaces namespaces() {
    return (SupportsNamespaces) python();
  }

  public String[] defaultNamespace() {
    return new String[0];
  }

  public Set capabilities() {
    return python().capabilities();
  }

  public boolean useNullableQuerySchema() {
    return true;
  }

  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    return python().listTables(namespace);
  }

  public Table loadTable(Identifier table) throws NoSuchTableException {
    return python().loadTable(table);
  }

  public Table loadTable(Identifier table, Set privileges) throws NoSuchTableException {
    return python().loadTable(table, privileges);
  }

  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    return python().loadTable(table, version);
  }

  public Table loadTable(Identifier table, long micros) throws NoSuchTableException {
    return python().loadTable(table, micros);
  }

  public boolean tableExists(Identifier table) {
    return python().tableExists(table);
  }

  public void invalidateTable(Identifier table) {
    python().invalidateTable(table);
  }

  @SuppressWarnings("deprecation")
  public Table createTable(Identifier table, Column[] columns, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return python().createTable(table, columns, partitions, properties);
  }

  public Table alterTable(Identifier table, TableChange[] changes) throws NoSuchTableException {
    return python().alterTable(table, changes);
  }

  public boolean dropTable(Identifier table) {
    return python().dropTable(table);
  }

  public boolean purgeTable(Identifier table) {
    return python().purgeTable(table);
  }

  public void renameTable(Identifier table, Identifier other)
      throws NoSuchTableException, TableAlreadyExistsException {
    python().renameTable(table, other);
  }

  public String[][] listNamespaces() throws NoSuchNamespaceException {
    return namespaces().listNamespaces();
  }

  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    return namespaces().listNamespaces(namespace);
  }

  public boolean namespaceExists(String[] namespace) {
    return namespaces().namespaceExists(namespace);
  }

  public Map loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    return namespaces().loadNamespaceMetadata(namespace);
  }

  public void createNamespace(String[] namespace, Map metadata) throws NamespaceAlreadyExistsException {
    namespaces().createNamespace(namespace, metadata);
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) throws NoSuchNamespaceException {
    namespaces().alterNamespace(namespace, changes);
  }

  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    return namespaces().dropNamespace(namespace, cascade);
  }
}
