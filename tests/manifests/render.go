// Renders the templates of a chart where helm is not there: with the package that helm renders by, and those of its functions that the
// chart uses. What helm does besides, such as checking the values, it does not do.
//
// Standard input is {"values": …, "release": {"Name": …, "Namespace": …}, "chart": {"AppVersion": …}}; the argument is the chart's folder.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

type files string

// Get is what templates call as .Files.Get; as with helm, a file that is not there is empty.
func (folder files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(string(folder), name))
	if err != nil {
		return ""
	}
	return string(text)
}

func main() {
	if err := render(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func render(chart string) error {
	var input struct {
		Values  map[string]any    `json:"values"`
		Release map[string]string `json:"release"`
		Chart   map[string]string `json:"chart"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return err
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		// JSON is YAML.
		"toYaml": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"nindent": func(count int, text string) string {
			indent := "\n" + strings.Repeat(" ", count)
			return indent + strings.ReplaceAll(text, "\n", indent)
		},
		"default": func(other, value any) any {
			if value == nil || value == "" {
				return other
			}
			return value
		},
		"quote": func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"include": func(name string, data any) (string, error) {
			var text strings.Builder
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
	})
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil {
		return err
	}
	if _, err := all.ParseFiles(paths...); err != nil {
		return err
	}
	data := map[string]any{"Values": input.Values, "Release": input.Release, "Chart": input.Chart, "Files": files(chart)}
	for _, path := range paths {
		var text strings.Builder
		if err := all.ExecuteTemplate(&text, filepath.Base(path), data); err != nil {
			return err
		}
		if filepath.Ext(path) == ".yaml" {
			fmt.Printf("---\n%s\n", text.String())
		}
	}
	return nil
}
