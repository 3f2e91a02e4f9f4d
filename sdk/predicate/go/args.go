package nodesift

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The arguments that a policy gives, as a struct. A field can be a string, a bool, an integer, a float, a slice, a map of strings to these,
// a struct or a pointer to these. Its name is that in the tag `json`, or its own with a small first letter. A field of another name is
// refused. Null and a field that is left out stand for the default. Two words in the tag `nodesift` check more: `required`, and
// `notempty` for texts, slices and maps.

// parseArgs reads arguments over their defaults.
func parseArgs[Args any](text string, defaults Args, check func(*Args) error) (*Args, error) {
	value, err := parseJSON(text)
	if err != nil {
		return nil, errors.New("the arguments are not JSON: " + err.Error())
	}
	args := &defaults
	into := reflect.ValueOf(args).Elem()
	if into.Kind() != reflect.Struct {
		return nil, errors.New("the arguments of a predicate are a struct, not " + into.Type().String())
	}
	if err := assign(value, into, ""); err != nil {
		return nil, err
	}
	if check != nil {
		if err := check(args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func refused(path, reason string) error {
	if path == "" {
		return errors.New(reason)
	}
	return errors.New(path + ": " + reason)
}

func wrong(path, expected string, value any) error {
	shown := show(value)
	if len(shown) > maxShown {
		cut := maxShown
		for !utf8.RuneStart(shown[cut]) {
			cut--
		}
		shown = shown[:cut] + "…"
	}
	return refused(path, "expected "+expected+", not "+shown)
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func assign(value any, into reflect.Value, path string) error {
	switch into.Kind() {
	case reflect.Pointer:
		pointed := reflect.New(into.Type().Elem())
		if err := assign(value, pointed.Elem(), path); err != nil {
			return err
		}
		into.Set(pointed)
	case reflect.String:
		text, is := value.(string)
		if !is {
			return wrong(path, "a string", value)
		}
		into.SetString(text)
	case reflect.Bool:
		flag, is := value.(bool)
		if !is {
			return wrong(path, "true or false", value)
		}
		into.SetBool(flag)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		text, _ := value.(number)
		parsed, err := strconv.ParseInt(string(text), 10, into.Type().Bits())
		if err != nil {
			return wrong(path, "an integer", value)
		}
		into.SetInt(parsed)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		text, _ := value.(number)
		parsed, err := strconv.ParseUint(string(text), 10, into.Type().Bits())
		if err != nil {
			return wrong(path, "an integer that is not negative", value)
		}
		into.SetUint(parsed)
	case reflect.Float32, reflect.Float64:
		text, _ := value.(number)
		parsed, err := strconv.ParseFloat(string(text), into.Type().Bits())
		if err != nil {
			return wrong(path, "a number", value)
		}
		into.SetFloat(parsed)
	case reflect.Slice:
		items, is := value.([]any)
		if !is {
			return wrong(path, "a list", value)
		}
		made := reflect.MakeSlice(into.Type(), len(items), len(items))
		for index, item := range items {
			if err := assign(item, made.Index(index), path+"["+strconv.Itoa(index)+"]"); err != nil {
				return err
			}
		}
		into.Set(made)
	case reflect.Map:
		fields, is := value.(object)
		if !is {
			return wrong(path, "an object", value)
		}
		made := reflect.MakeMapWithSize(into.Type(), len(fields))
		for _, field := range fields {
			item := reflect.New(into.Type().Elem()).Elem()
			if err := assign(field.value, item, below(path, field.key)); err != nil {
				return err
			}
			made.SetMapIndex(reflect.ValueOf(field.key).Convert(into.Type().Key()), item)
		}
		into.Set(made)
	case reflect.Struct:
		return assignStruct(value, into, path)
	default:
		return refused(path, "an argument cannot be a "+into.Type().String())
	}
	return nil
}

func assignStruct(value any, into reflect.Value, path string) error {
	fields, is := value.(object)
	if !is {
		return wrong(path, "an object", value)
	}
	names := make([]string, into.NumField())
	for index := range names {
		names[index] = nameOf(into.Type().Field(index))
	}
	given := make([]bool, len(names))
	for _, field := range fields {
		index := slices.Index(names, field.key)
		if index < 0 || field.key == "" {
			return refused(below(path, field.key), "unknown field `"+field.key+"`, "+expected(names))
		}
		if field.value == nil {
			continue
		}
		if err := assign(field.value, into.Field(index), below(path, field.key)); err != nil {
			return err
		}
		given[index] = true
	}
	for index, name := range names {
		words := strings.Split(into.Type().Field(index).Tag.Get("nodesift"), ",")
		if slices.Contains(words, "required") && !given[index] {
			return refused(below(path, name), "missing")
		}
		if slices.Contains(words, "notempty") && into.Field(index).Len() == 0 {
			return refused(below(path, name), "must not be empty")
		}
	}
	return nil
}

func expected(names []string) string {
	known := make([]string, 0, len(names))
	for _, name := range names {
		if name != "" {
			known = append(known, "`"+name+"`")
		}
	}
	if len(known) == 0 {
		return "there are no fields"
	}
	return "expected " + strings.Join(known, ", ")
}

// nameOf gives the name of a field in JSON; none where it is not for policies.
func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case !field.IsExported() || name == "-":
		return ""
	case name != "":
		return name
	}
	first, width := utf8.DecodeRuneInString(field.Name)
	return string(unicode.ToLower(first)) + field.Name[width:]
}

// show writes a value as JSON.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case number:
		return string(value)
	case string:
		return strconv.Quote(value)
	case []any:
		items := make([]string, len(value))
		for index, item := range value {
			items[index] = show(item)
		}
		return "[" + strings.Join(items, ",") + "]"
	case object:
		fields := make([]string, len(value))
		for index, field := range value {
			fields[index] = strconv.Quote(field.key) + ":" + show(field.value)
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	return "?"
}
