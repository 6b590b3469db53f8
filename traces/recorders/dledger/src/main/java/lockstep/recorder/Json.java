package lockstep.recorder;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Texts as JSON. */
final class Json {
    private Json() {}

    static String text(String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\' || each < ' ') {
                quoted.append(String.format("\\u%04x", (int) each));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('"').toString();
    }

    /** The body of an entry: its text, or its bytes in hexadecimal where it is none. */
    static String value(byte[] body) {
        try {
            return text(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
        } catch (CharacterCodingException error) {
            StringBuilder digits = new StringBuilder("0x");
            for (byte each : body) {
                digits.append(String.format("%02x", each));
            }
            return text(digits.toString());
        }
    }
}
