package lockstep.recorder;

import java.nio.file.Path;

/**
 * Lines in a file of the recorder, without DLedger: LineWriter FILE [COMMAND ...], the lines numbered from N on.
 *
 * <pre>
 * from N               the number of the next line
 * lines COUNT LENGTH   lines of at least so many bytes
 * interrupt            sets the thread's flag
 * trim                 ends the file
 * wait                 says so, and reads a line
 * kill                 ends the process, with the status 9
 * </pre>
 */
public final class LineWriter {
    private LineWriter() {}

    public static void main(String[] words) throws Exception {
        LineFile.open(Path.of(words[0]));
        int number = 0;
        for (int i = 1; i < words.length; i++) {
            switch (words[i]) {
                case "from" -> number = Integer.parseInt(words[++i]);
                case "interrupt" -> Thread.currentThread().interrupt();
                case "trim" -> LineFile.trim();
                case "kill" -> Runtime.getRuntime().halt(9);
                case "wait" -> {
                    System.out.println("waiting");
                    System.in.read();
                }
                case "lines" -> {
                    String text = "x".repeat(Integer.parseInt(words[i + 2]));
                    for (int count = Integer.parseInt(words[i + 1]); count > 0; count--) {
                        write(number++, text);
                    }
                    i += 2;
                }
                default -> throw new IllegalArgumentException(words[i]);
            }
        }
    }

    private static void write(int number, String text) {
        LineFile.LOCK.lock();
        try {
            LineFile.end(LineFile.begin().raw("{\"n\":").number(number).raw(",\"text\":").text(text).raw("}"));
        } finally {
            LineFile.LOCK.unlock();
        }
    }
}
