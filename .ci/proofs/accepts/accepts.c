/* Counts the connections that a program accepts, to be preloaded: each adds a line to the file $ACCEPTS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void count(int socket)
{
	int domain = 0;
	socklen_t size = sizeof domain;
	getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size);
	if (domain != AF_INET && domain != AF_INET6)
		return;
	int file = open(getenv("ACCEPTS"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0 || write(file, "accepted\n", 9) != 9)
		abort();
	close(file);
}

int accept(int socket, struct sockaddr *peer, socklen_t *size)
{
	static int (*real)(int, struct sockaddr *, socklen_t *);
	if (!real)
		real = (int (*)(int, struct sockaddr *, socklen_t *))dlsym(RTLD_NEXT, "accept");
	int accepted = real(socket, peer, size);
	if (accepted >= 0)
		count(accepted);
	return accepted;
}

int accept4(int socket, struct sockaddr *peer, socklen_t *size, int flags)
{
	static int (*real)(int, struct sockaddr *, socklen_t *, int);
	if (!real)
		real = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
	int accepted = real(socket, peer, size, flags);
	if (accepted >= 0)
		count(accepted);
	return accepted;
}
