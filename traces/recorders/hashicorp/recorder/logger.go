package recorder

import (
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// logger writes the lines that the library logs into the recording, at whatever level, once they are logged.
type logger struct {
	hclog.Logger
	r *recorder
}

// loggerOf returns the logger that the library would log with.
func loggerOf(config *raft.Config) hclog.Logger {
	if config.Logger != nil {
		return config.Logger
	}
	output := config.LogOutput
	if output == nil {
		output = os.Stderr
	}
	return hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.LevelFromString(config.LogLevel), Output: output})
}

func (l *logger) logged(level hclog.Level, text string, args []any) {
	by := callers()
	named := fields{}
	for k := 0; k+1 < len(args); k += 2 {
		named[fmt.Sprint(args[k])] = fmt.Sprint(args[k+1])
	}
	l.r.mutex.Lock()
	defer l.r.mutex.Unlock()
	l.r.awaitAnswer(by)
	if l.r.hasStarted {
		l.r.write("liblog", fields{"level": level.String(), "text": text, "args": named})
	}
}

// Log logs and records a line.
func (l *logger) Log(level hclog.Level, text string, args ...any) {
	l.Logger.Log(level, text, args...)
	l.logged(level, text, args)
}

// Trace logs and records a line.
func (l *logger) Trace(text string, args ...any) {
	l.Logger.Trace(text, args...)
	l.logged(hclog.Trace, text, args)
}

// Debug logs and records a line.
func (l *logger) Debug(text string, args ...any) {
	l.Logger.Debug(text, args...)
	l.logged(hclog.Debug, text, args)
}

// Info logs and records a line.
func (l *logger) Info(text string, args ...any) {
	l.Logger.Info(text, args...)
	l.logged(hclog.Info, text, args)
}

// Warn logs and records a line.
func (l *logger) Warn(text string, args ...any) {
	l.Logger.Warn(text, args...)
	l.logged(hclog.Warn, text, args)
}

// Error logs and records a line.
func (l *logger) Error(text string, args ...any) {
	l.Logger.Error(text, args...)
	l.logged(hclog.Error, text, args)
}

// With returns a logger whose lines are recorded as well.
func (l *logger) With(args ...any) hclog.Logger { return &logger{l.Logger.With(args...), l.r} }
