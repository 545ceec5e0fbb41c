package lakescan;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ExecutionException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Files of a store, opened by Hadoop's own file system with what one session was told, and never with what another was:
 * Hadoop keeps one file system for a bucket, whoever first asked for it. Whatever fails is an IOException, behind which
 * a worker reads; a store that has failed is not asked again for a minute.
 */
public final class StoreFiles extends FilterFileSystem {
  /** In a configuration that the driver sends: what tells it from others, and of which scheme it opens files. */
  public static final String ID = "lakescan.store.id";
  public static final String SCHEME = "lakescan.store.scheme";
  private static final long MINUTE = 60000000000L;
  private static final long HOUR = 60 * MINUTE;
  private static final Map TOLD = new HashMap();
  private static final Map STORES = new HashMap();
  /** The file that a thread looked at last: Spark's reader asks for the same once more. */
  private static final ThreadLocal LAST = new ThreadLocal();

  private Store store;

  /** Lets files of the store that `told` is for be opened by `settings`. */
  public static void use(Configuration told, Configuration settings) {
    String scheme = "fs." + told.get(SCHEME) + ".impl";
    synchronized (STORES) {
      TOLD.put(told.get(ID), told);
    }
    settings.setClassLoader(StoreFiles.class.getClassLoader());
    settings.set(ID, told.get(ID));
    settings.set(scheme, StoreFiles.class.getName());
    settings.setBoolean(scheme + ".disable.cache", true);
  }

  public static boolean isInStore(Path path) {
    return !"file".equals(path.toUri().getScheme());
  }

  /** A path on this machine begins with a slash, another with its store. Neither is escaped. */
  public static Path pathOf(String text) {
    if (text.startsWith("/")) {
      return new Path("file", null, text);
    }
    int authority = text.indexOf("://") + 3;
    int path = text.indexOf('/', authority);
    return new Path(text.substring(0, authority - 3), text.substring(authority, path), text.substring(path));
  }

  /** The file as it is now. */
  public static FileStatus look(Path path, Configuration settings) throws IOException {
    LAST.remove();
    FileStatus file = path.getFileSystem(settings).getFileStatus(path);
    LAST.set(new Object[] {path, file});
    return file;
  }

  /** Some bytes of a file, and before them its first. */
  public static byte[] read(Path path, Configuration settings, long offset, int length) throws IOException {
    FileSystem files = path.getFileSystem(settings);
    FileStatus file = files.getFileStatus(path);
    if (!file.isFile() || offset < 0 || file.getLen() - offset < length) {
      throw new IOException(path + " ends before byte " + (offset + length));
    }
    byte[] bytes = new byte[1 + length];
    try {
      FSDataInputStream opened = (FSDataInputStream) files.openFile(path).withFileStatus(file).build().get();
      try {
        opened.readFully(0, bytes, 0, 1);
        opened.readFully(offset, bytes, 1, length);
      } finally {
        opened.close();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException(interrupted);
    } catch (ExecutionException error) {
      throw new IOException(error);
    }
    return bytes;
  }

  public void initialize(URI name, Configuration settings) throws IOException {
    setConf(settings);
    store = store(name, settings.get(ID));
    fs = store.opened();
  }

  public FileStatus getFileStatus(Path path) throws IOException {
    Object[] last = (Object[]) LAST.get();
    if (last != null && last[0].equals(path)) {
      return (FileStatus) last[1];
    }
    try {
      return fs.getFileStatus(path);
    } catch (FileNotFoundException missing) {
      throw missing;
    } catch (Exception error) {
      throw store.failed(error);
    } catch (LinkageError error) {
      throw store.failed(error);
    }
  }

  /** The file system is shared, and lives longer than whoever asks for a file. */
  public void close() {}

  private static Store store(URI name, String id) throws IOException {
    String key = id + " " + name.getScheme() + "://" + name.getAuthority();
    synchronized (STORES) {
      Configuration told = (Configuration) TOLD.get(id);
      if (told == null) {
        throw new IOException("Nobody said what opens " + name);
      }
      Store known = (Store) STORES.get(key);
      if (known == null) {
        closeIdle();
        known = new Store(name, told);
        STORES.put(key, known);
      }
      known.used = System.nanoTime();
      return known;
    }
  }

  /** Sessions come and go, and so do their keys; a reader that is still at a file is followed by a worker. */
  private static void closeIdle() {
    Iterator stores = STORES.values().iterator();
    while (stores.hasNext()) {
      Store idle = (Store) stores.next();
      if (System.nanoTime() - idle.used > HOUR) {
        stores.remove();
        TOLD.remove(idle.told.get(ID));
        idle.close();
      }
    }
  }

  /** A bucket, container or name node, and what one session says of it. */
  private static final class Store {
    final Configuration told;
    private final URI name;
    private FileSystem files;
    private Throwable why;
    private long failed;
    long used;

    Store(URI name, Configuration told) {
      this.name = name;
      this.told = told;
    }

    synchronized FileSystem opened() throws IOException {
      if (why != null && System.nanoTime() - failed < MINUTE) {
        throw new IOException("The store has failed a moment ago", why);
      }
      if (files == null) {
        try {
          Configuration own = new Configuration(told);
          own.setClassLoader(Thread.currentThread().getContextClassLoader());
          files = FileSystem.newInstance(name, own);
        } catch (Exception error) {
          throw failed(error);
        } catch (LinkageError error) {
          throw failed(error);
        }
      }
      return files;
    }

    synchronized IOException failed(Throwable error) {
      // Where Spark ends a task, the store is none the worse for it.
      if (!(error instanceof InterruptedIOException) && !Thread.currentThread().isInterrupted()) {
        why = error;
        failed = System.nanoTime();
      }
      return new IOException(error);
    }

    synchronized void close() {
      try {
        if (files != null) {
          files.close();
        }
      } catch (Exception error) {
        why = error;
      }
    }
  }
}
