# Runs what is in an image as a container would: the image's user and environment, nothing to write to but /data, processes and a network
# of its own. `unshare` starts it with that environment, the folder of the image, the one for /data, and the user.
set -eu
image=$1 data=$2 user=$3

say() { echo "container: $*"; }
fail() { say "$*"; exit 1; }
inside() { timeout 20 chroot --userspec="$user" --groups= "$image" "$@"; }

ip link set lo up
# Every container has these.
mkdir -p "$image/dev" "$image/proc"
mount --bind "$image" "$image"
mount --rbind /dev "$image/dev"
mount --types proc proc "$image/proc"
mount --bind "$data" "$image/data"
mount --options remount,bind,ro "$image"

if inside /bin/sh -c true 2> /dev/null; then fail "there is a shell in it"; fi

# By default it does not serve without TLS and credentials.
if output=$(inside /usr/local/bin/tenured 2>&1); then fail "it serves other hosts by default"; fi
case $output in
*allow_insecure*) say "it rejects its configuration: $output" ;;
*) fail "it rejects its configuration for another reason: $output" ;;
esac

export TENURE_ALLOW_INSECURE=true TENURE_ENDPOINTS=http://127.0.0.1:7420
# Not by the function: this is to be the server's process, for the signal.
chroot --userspec="$user" --groups= "$image" /usr/local/bin/tenured &
server=$!
left=100
until inside /usr/local/bin/tenured healthcheck 2> /dev/null; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "it is not ready"
    kill -0 "$server" || fail "it has ended"
    sleep 0.1
done
say "it is ready"
inside /usr/local/bin/tenure lock exercise -- /usr/local/bin/tenure get exercise
[ -s "$image/data/tenure.db" ] || fail "its state is not in /data"
case $(inside /usr/local/bin/tenured --data-dir /elsewhere --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 2>&1) in
*"cannot create /elsewhere"*) ;;
*) fail "it can write outside of /data" ;;
esac
kill -TERM "$server"
wait "$server" || fail "it did not stop gracefully"
if inside /usr/local/bin/tenured healthcheck 2> /dev/null; then fail "a stopped server passes the health check"; fi
say "it has stopped gracefully"
