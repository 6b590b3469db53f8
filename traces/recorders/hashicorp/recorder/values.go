package recorder

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/raft"
)

// learn notes what a server is called at an address: the library stores a vote as the address of the candidate.
func (r *recorder) learn(address raft.ServerAddress, id raft.ServerID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.names[address] = string(id)
}

func (r *recorder) learnMembers(configuration raft.Configuration) {
	for _, each := range configuration.Servers {
		r.learn(each.Address, each.ID)
	}
}

func (r *recorder) nameOf(address []byte) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if name, isKnown := r.names[raft.ServerAddress(address)]; isKnown {
		return name
	}
	return string(address)
}

// shown returns a command as text, or the digest of one that is none: JSON has no other bytes.
func shown(command []byte) string {
	if utf8.Valid(command) {
		return string(command)
	}
	digest := sha256.Sum256(command)
	return fmt.Sprintf("sha256:%x", digest[:16])
}

func (r *recorder) entry(log *raft.Log) fields {
	line := fields{"i": log.Index, "t": log.Term, "type": strings.TrimPrefix(log.Type.String(), "Log")}
	switch log.Type {
	case raft.LogCommand:
		line["v"] = shown(log.Data)
	case raft.LogConfiguration:
		configuration := raft.DecodeConfiguration(log.Data)
		r.learnMembers(configuration)
		line["v"] = members(configuration)
	}
	return line
}

func (r *recorder) entries(logs []*raft.Log) []fields {
	found := []fields{}
	for _, log := range logs {
		found = append(found, r.entry(log))
	}
	return found
}

// members lists the servers of a configuration: the voters, and behind ~ those without a vote.
func members(configuration raft.Configuration) string {
	var voters, nonvoters []string
	for _, each := range configuration.Servers {
		if each.Suffrage == raft.Voter {
			voters = append(voters, string(each.ID))
		} else {
			nonvoters = append(nonvoters, "~"+string(each.ID))
		}
	}
	sort.Strings(voters)
	sort.Strings(nonvoters)
	return strings.Join(append(voters, nonvoters...), ",")
}
