// Command client appends commands to a group of servers, through whichever of them leads, by lockstep's protocol of
// clients: the byte 0x4C, then a line of JSON for each request and each answer.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

const patience = 20 * time.Second

type answer struct {
	Error  *string `json:"error"`
	Leader *string `json:"leader"`
	Index  uint64  `json:"index"`
	Term   uint64  `json:"term"`
}

// session is a connection to one server.
type session struct {
	connection net.Conn
	answers    *bufio.Scanner
}

func open(address string) (*session, error) {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, err
	}
	if _, err = connection.Write([]byte{0x4C}); err != nil {
		return nil, err
	}
	return &session{connection, bufio.NewScanner(connection)}, nil
}

func (s *session) ask(request map[string]any) (answer, error) {
	var got answer
	line, err := json.Marshal(request)
	if err != nil {
		return got, err
	}
	s.connection.SetDeadline(time.Now().Add(patience))
	if _, err = s.connection.Write(append(line, '\n')); err != nil {
		return got, err
	}
	if !s.answers.Scan() {
		return got, fmt.Errorf("no answer: %v", s.answers.Err())
	}
	return got, json.Unmarshal(s.answers.Bytes(), &got)
}

// toLeader opens a session with the server that leads, starting with any.
func toLeader(addresses map[string]string) (string, *session, error) {
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		for name, address := range addresses {
			s, err := open(address)
			if err != nil {
				continue
			}
			if got, err := s.ask(map[string]any{"op": "verify"}); err == nil && got.Error == nil {
				return name, s, nil
			}
			s.connection.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", nil, fmt.Errorf("no server leads")
}

func run(peers string, values []string) error {
	addresses := map[string]string{}
	for _, part := range strings.Split(peers, ";") {
		name, address, found := strings.Cut(part, "=")
		if !found {
			return fmt.Errorf("-peers: %q is no NAME=HOST:PORT", part)
		}
		addresses[name] = address
	}
	leader, s, err := toLeader(addresses)
	if err != nil {
		return err
	}
	for _, value := range values {
		got, err := s.ask(map[string]any{"op": "apply", "value": value})
		if err != nil {
			return err
		}
		if got.Error != nil {
			return fmt.Errorf("%s: %s", value, *got.Error)
		}
		fmt.Printf("%s %s: index %d, term %d\n", leader, value, got.Index, got.Term)
	}
	return nil
}

func main() {
	peers := flag.String("peers", "", "the servers: n1=127.0.0.1:12001;n2=...")
	flag.Parse()
	if err := run(*peers, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
