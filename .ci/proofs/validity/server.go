package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What the server does: the first token so long after the request, then one a gap. The ramp begins a stream every few
// milliseconds: were these times multiples of its steps, all tokens would come when a stream begins.
const (
	firstToken = 97300 * time.Microsecond
	tokenGap   = 49700 * time.Microsecond
	model      = "truth"
)

// stamped is the truth of one streamed request, in nanoseconds of the time of day. Written has the moments before and
// after the write of each event with a token: its bytes reach the socket of a client on the same machine in between.
type stamped struct {
	ID         string     `json:"id"`
	ReceivedNS int64      `json:"received_ns"` // the kernel's stamp of the request's last byte
	Written    [][2]int64 `json:"written"`
}

// server stamps the truth. It speaks just enough HTTP for uma-load, on bare connections, so that each stamp lies beside
// its system call.
type server struct {
	mutex sync.Mutex
	all   []stamped
}

// serve serves until a signal and writes the truth last.
func serve(address, file string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, os.Interrupt)
	var s server
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.connection(conn.(*net.TCPConn))
		}
	}()
	<-ended
	_ = listener.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text, err := json.Marshal(s.all)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// stampReader reads a connection and keeps the kernel's stamp of the newest byte.
type stampReader struct {
	raw syscall.RawConn
	at  int64
}

func (r *stampReader) Read(p []byte) (n int, err error) {
	control := make([]byte, 64)
	var got int
	wrong := r.raw.Read(func(descriptor uintptr) bool {
		n, got, _, _, err = unix.Recvmsg(int(descriptor), p, control, 0)
		return err != unix.EAGAIN
	})
	if wrong != nil {
		return 0, wrong
	}
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	r.at = time.Now().UnixNano()
	if messages, bad := unix.ParseSocketControlMessage(control[:got]); bad == nil {
		for _, m := range messages {
			if m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
				r.at = int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:]))
			}
		}
	}
	return max(n, 0), err
}

func (s *server) connection(conn *net.TCPConn) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(descriptor uintptr) {
		_ = unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	reader := stampReader{raw: raw}
	for in := bufio.NewReaderSize(&reader, 64<<10); ; {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || !s.answer(conn, request, body, reader.at) {
			return
		}
	}
}

// answer reports whether the connection goes on.
func (s *server) answer(conn net.Conn, request *http.Request, body []byte, received int64) bool {
	switch {
	case request.Method == http.MethodGet && request.URL.Path == "/v1/models":
		return reply(conn, http.StatusOK, `{"object":"list","data":[{"id":"`+model+`","object":"model","created":0,"owned_by":"umascope-simulated","max_model_len":1048576}]}`)
	case request.URL.Path == "/v1/chat/completions":
		var asked struct {
			Stream        bool `json:"stream"`
			MaxTokens     int  `json:"max_tokens"`
			MaxCompletion int  `json:"max_completion_tokens"`
		}
		if json.Unmarshal(body, &asked) != nil {
			return reply(conn, http.StatusBadRequest, `{}`)
		}
		tokens := max(asked.MaxTokens, asked.MaxCompletion, 1)
		if !asked.Stream {
			return reply(conn, http.StatusOK, `{"id":"1","object":"chat.completion","created":0,"model":"`+model+`","choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":"token"}}],"usage":`+usage(tokens)+`}`)
		}
		return s.stream(conn, tokens, received)
	}
	return reply(conn, http.StatusNotFound, `{}`)
}

func usage(tokens int) string {
	return fmt.Sprintf(`{"prompt_tokens":1,"completion_tokens":%d,"total_tokens":%d}`, tokens, tokens+1)
}

func reply(conn net.Conn, status int, body string) bool {
	_, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
	return err == nil
}

func (s *server) stream(conn net.Conn, tokens int, received int64) bool {
	s.mutex.Lock()
	number := len(s.all)
	s.all = append(s.all, stamped{})
	s.mutex.Unlock()
	one := stamped{ID: strconv.Itoa(number), ReceivedNS: received, Written: make([][2]int64, 0, tokens)}
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: %s\r\nTransfer-Encoding: chunked\r\n\r\n", one.ID)
	write := func(data string) (before, after int64, err error) {
		piece := "data: " + data + "\n\n"
		bytes := fmt.Appendf(nil, "%x\r\n%s\r\n", len(piece), piece)
		before = time.Now().UnixNano()
		_, err = conn.Write(bytes)
		return before, time.Now().UnixNano(), err
	}
	begun := time.Now()
	for i := range tokens {
		finish := "null"
		if i == tokens-1 {
			finish = `"length"`
		}
		time.Sleep(time.Until(begun.Add(firstToken + time.Duration(i)*tokenGap)))
		before, after, err := write(`{"id":"1","object":"chat.completion.chunk","created":0,"model":"` + model + `","choices":[{"index":0,"delta":{"content":"token "},"finish_reason":` + finish + `}]}`)
		if err != nil {
			return false
		}
		one.Written = append(one.Written, [2]int64{before, after})
	}
	_, _, _ = write(`{"id":"1","object":"chat.completion.chunk","created":0,"model":"` + model + `","choices":[],"usage":` + usage(tokens) + `}`)
	_, _, _ = write("[DONE]")
	_, err := io.WriteString(conn, "0\r\n\r\n")
	s.mutex.Lock()
	s.all[number] = one
	s.mutex.Unlock()
	return err == nil
}
