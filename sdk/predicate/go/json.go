package nodesift

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A reader of JSON, for arguments: encoding/json would make a module a third larger, and says of a mistake neither path nor value.
// Values are nil, bool, number, string, []any and object.

// number is a number as written.
type number string

// object has its fields in the order of the text.
type object []field

type field struct {
	key   string
	value any
}

type reader struct {
	text string
	at   int
}

var errSyntax = errors.New("unexpected text")

func parseJSON(text string) (any, error) {
	r := &reader{text: text}
	value, err := r.value(0)
	if r.space(); err == nil && r.at != len(r.text) {
		err = errSyntax
	}
	if err != nil {
		return nil, errors.New(err.Error() + " at byte " + strconv.Itoa(r.at))
	}
	return value, nil
}

func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next takes a byte where it is the next one.
func (r *reader) next(wanted byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == wanted {
		r.at++
		return true
	}
	return false
}

func (r *reader) word(wanted string) bool {
	if len(r.text)-r.at >= len(wanted) && r.text[r.at:r.at+len(wanted)] == wanted {
		r.at += len(wanted)
		return true
	}
	return false
}

func (r *reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("too many values inside of each other")
	}
	r.space()
	switch {
	case r.word("null"):
		return nil, nil
	case r.word("true"):
		return true, nil
	case r.word("false"):
		return false, nil
	case r.at < len(r.text) && r.text[r.at] == '"':
		return r.string()
	case r.next('['):
		items := []any{}
		if r.next(']') {
			return items, nil
		}
		for {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
			if r.next(']') {
				return items, nil
			}
			if !r.next(',') {
				return nil, errSyntax
			}
		}
	case r.next('{'):
		fields := object{}
		if r.next('}') {
			return fields, nil
		}
		for {
			r.space()
			key, err := r.string()
			if err != nil {
				return nil, err
			}
			if !r.next(':') {
				return nil, errSyntax
			}
			value, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			fields = append(fields, field{key, value})
			if r.next('}') {
				return fields, nil
			}
			if !r.next(',') {
				return nil, errSyntax
			}
		}
	}
	return r.number()
}

func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	return r.at > from
}

func (r *reader) one(of string) bool {
	if r.at < len(r.text) {
		for index := range of {
			if r.text[r.at] == of[index] {
				r.at++
				return true
			}
		}
	}
	return false
}

func (r *reader) number() (any, error) {
	from := r.at
	r.one("-")
	if !r.one("0") && !r.digits() {
		return nil, errSyntax
	}
	if r.one(".") && !r.digits() {
		return nil, errSyntax
	}
	if r.one("eE") {
		r.one("+-")
		if !r.digits() {
			return nil, errSyntax
		}
	}
	return number(r.text[from:r.at]), nil
}

func (r *reader) string() (string, error) {
	if !r.word(`"`) {
		return "", errSyntax
	}
	var made []byte
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			return string(made), nil
		case c < ' ':
			return "", errSyntax
		case c != '\\':
			made = append(made, c)
			r.at++
			continue
		}
		r.at++
		if r.at == len(r.text) {
			break
		}
		c = r.text[r.at]
		r.at++
		switch c {
		case '"', '\\', '/':
			made = append(made, c)
		case 'b':
			made = append(made, '\b')
		case 'f':
			made = append(made, '\f')
		case 'n':
			made = append(made, '\n')
		case 'r':
			made = append(made, '\r')
		case 't':
			made = append(made, '\t')
		case 'u':
			unit, isHex := r.unit()
			if !isHex {
				return "", errSyntax
			}
			if utf16.IsSurrogate(unit) {
				low := utf8.RuneError
				if r.word(`\u`) {
					if low, isHex = r.unit(); !isHex {
						return "", errSyntax
					}
				}
				unit = utf16.DecodeRune(unit, low)
			}
			made = utf8.AppendRune(made, unit)
		default:
			return "", errSyntax
		}
	}
	return "", errors.New("a text without an end")
}

// unit reads four hexadecimal digits.
func (r *reader) unit() (rune, bool) {
	if len(r.text)-r.at < 4 {
		return 0, false
	}
	unit, err := strconv.ParseUint(r.text[r.at:r.at+4], 16, 16)
	r.at += 4
	return rune(unit), err == nil
}
