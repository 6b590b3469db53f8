package recorder

import (
	"errors"
	"sync"

	"github.com/hashicorp/raft"
)

var errClosed = errors.New("the pipeline was closed")

// pipeline records the calls of a pipeline. An answer has its line before the library's decoder takes it.
type pipeline struct {
	raft.AppendPipeline
	r       *recorder
	to      raft.ServerID
	answers chan raft.AppendFuture
	// slots bounds the calls that the library has not taken the answer of, as without the routine that passes them on.
	slots  chan struct{}
	closed chan struct{}
	// mutex guards the calls that have no answer, in their order.
	mutex   sync.Mutex
	waiting []pipelinedCall
}

type pipelinedCall struct {
	number  int
	request *raft.AppendEntriesRequest
}

// AppendEntriesPipeline opens a pipeline, if the transport has one.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, at raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.Transport.AppendEntriesPipeline(id, at)
	if err != nil {
		return nil, err
	}
	p := &pipeline{AppendPipeline: inner, r: t.r, to: id, answers: make(chan raft.AppendFuture),
		slots: make(chan struct{}, capacity(inner)), closed: make(chan struct{})}
	go p.forward()
	return p, nil
}

// capacity returns how many calls a pipeline of NetworkTransport takes before AppendEntries waits, if nobody takes an answer:
// as many as there is room for before and behind its decoder, and the one that this holds.
func capacity(inner raft.AppendPipeline) int { return 2*cap(inner.Consumer()) + 1 }

// AppendEntries sends a request, and waits where the library's own pipeline would.
func (p *pipeline) AppendEntries(q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	p.mutex.Lock()
	number := p.r.sends(p.to, q, true)
	p.waiting = append(p.waiting, pipelinedCall{number, q})
	p.mutex.Unlock()
	future, err := p.AppendPipeline.AppendEntries(q, a)
	if err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
		return future, nil
	case <-p.closed:
		return nil, raft.ErrPipelineShutdown
	}
}

// Consumer returns the channel of answers.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// Close writes that nobody waits any more for what has no answer.
func (p *pipeline) Close() error {
	err := p.AppendPipeline.Close()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	for _, call := range p.waiting {
		p.r.ended(call.number, p.to, call.request, nil, errClosed)
	}
	p.waiting = nil
	return err
}

// forward passes the answers on, which come in the order of the requests.
func (p *pipeline) forward() {
	for {
		select {
		case future := <-p.AppendPipeline.Consumer():
			p.written(future)
			select {
			case p.answers <- future:
			case <-p.closed:
				return
			}
			select {
			case <-p.slots:
			case <-p.closed:
				return
			}
		case <-p.closed:
			return
		}
	}
}

func (p *pipeline) written(future raft.AppendFuture) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.waiting) == 0 {
		return // it was closed meanwhile
	}
	call := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.r.ended(call.number, p.to, call.request, future.Response(), future.Error())
}
