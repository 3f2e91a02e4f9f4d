// Generate makes the messages and stubs of nodesiftv1 from the proto, as protoc with protoc-gen-go and
// protoc-gen-go-grpc would. It compiles the proto in Go, and so needs no protoc: `make proto`.
//
// Arguments: the folder of the proto, the folder of the client's module, the paths of the files in the first.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// The plugins of protoc: tools that go.mod pins.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

// Files are written below the folder of the module, whose path they begin with.
const parameter = "module=github.com/nodesift/nodesift/sdk/core/go"

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("takes the folder of the proto, the folder of the module, the paths of files in the first"))
	}
	fail(generate(os.Args[1], os.Args[2], os.Args[3:]))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func generate(folder, module string, files []string) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{folder}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: proto.String(parameter)}
	described := map[string]bool{}
	for _, each := range compiled {
		request.ProtoFile = describe(request.ProtoFile, each, described)
	}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := run(plugin, encoded, module); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// describe appends a file behind what it imports, as plugins expect it.
func describe(all []*descriptorpb.FileDescriptorProto, file protoreflect.FileDescriptor, described map[string]bool) []*descriptorpb.FileDescriptorProto {
	if described[file.Path()] {
		return all
	}
	described[file.Path()] = true
	for at := range file.Imports().Len() {
		all = describe(all, file.Imports().Get(at).FileDescriptor, described)
	}
	return append(all, protodesc.ToFileDescriptorProto(file))
}

func run(plugin string, request []byte, module string) error {
	command := exec.Command("go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, file := range response.GetFile() {
		path := filepath.Join(module, file.GetName())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
