package nodesift

import "github.com/nodesift/nodesift/sdk/predicate/go/facts"

// Lines for operators, in the log of the sidecar: at most 10 a second, of 1,024 bytes.

// LogDebug writes a line for the author, which is not shown by default.
func LogDebug(text string) { facts.LogWrite(facts.LogLevelDebug, text) }

// LogInfo writes a line about what happens.
func LogInfo(text string) { facts.LogWrite(facts.LogLevelInfo, text) }

// LogWarn writes a line that somebody should look at.
func LogWarn(text string) { facts.LogWrite(facts.LogLevelWarn, text) }

// LogError writes a line about what keeps the predicate from its work.
func LogError(text string) { facts.LogWrite(facts.LogLevelError, text) }
