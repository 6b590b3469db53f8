package recorder

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// appendJSON appends a value as JSON. Those that lines have need no reflection.
func appendJSON(data []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return append(data, "null"...), nil
	case string:
		return appendText(data, value)
	case bool:
		return strconv.AppendBool(data, value), nil
	case int:
		return strconv.AppendInt(data, int64(value), 10), nil
	case int64:
		return strconv.AppendInt(data, value, 10), nil
	case uint64:
		return strconv.AppendUint(data, value, 10), nil
	case float64: // a moment: neither so small nor so large that JSON has an exponent
		return strconv.AppendFloat(data, value, 'f', -1, 64), nil
	case fields:
		return appendObject(data, value)
	case []fields:
		return appendList(data, value)
	}
	return appendOther(data, value)
}

// appendOther appends a value of any type.
func appendOther(data []byte, value any) ([]byte, error) {
	found, err := json.Marshal(value)
	return append(data, found...), err
}

// appendObject appends an object, its names in order.
func appendObject(data []byte, object fields) ([]byte, error) {
	var room [24]string
	names := room[:0]
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	var err error
	data = append(data, '{')
	for k, name := range names {
		if k > 0 {
			data = append(data, ',')
		}
		if data, err = appendText(data, name); err != nil {
			return nil, err
		}
		if data, err = appendJSON(append(data, ':'), object[name]); err != nil {
			return nil, err
		}
	}
	return append(data, '}'), nil
}

func appendList(data []byte, list []fields) ([]byte, error) {
	var err error
	data = append(data, '[')
	for k, each := range list {
		if k > 0 {
			data = append(data, ',')
		}
		if data, err = appendObject(data, each); err != nil {
			return nil, err
		}
	}
	return append(data, ']'), nil
}

func appendText(data []byte, text string) ([]byte, error) {
	for k := range len(text) {
		if each := text[k]; each < ' ' || each == '"' || each == '\\' || each >= utf8.RuneSelf {
			return appendOther(data, text)
		}
	}
	return append(append(append(data, '"'), text...), '"'), nil
}
