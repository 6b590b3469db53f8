package recorder

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What a line has is written as the library of the language writes it.
func TestALineIsTheJSONOfItsFields(t *testing.T) {
	line := fields{"text": "a \"b\" \\ \n é 😀 \xff", "plain": "run<runLeader", "none": nil, "yes": true, "int": -7, "wall": int64(1) << 60,
		"uint": ^uint64(0), "at": 14189.123456789, "list": []fields{{"i": uint64(1)}, {}}, "empty": []fields{}, "object": fields{"b": 1, "a": 2},
		"bytes": []byte{1}, "small": uint8(3)}
	found, err := appendJSON(nil, line)
	if err != nil {
		t.Fatal(err)
	}
	var expected bytes.Buffer
	encoder := json.NewEncoder(&expected)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		t.Fatal(err)
	}
	if string(found)+"\n" != expected.String() {
		t.Fatalf("%s is not %s", found, expected.String())
	}
	if _, err := appendJSON(nil, fields{"channel": make(chan int)}); err == nil {
		t.Fatal("a channel has become JSON")
	}
}
