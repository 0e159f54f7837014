# Installs a part of a release where there is nothing else, by the command of the README, and runs it against the released
# server: RELEASE VERSION PART XTASK HELM. Registries are replaced by what the environment or a function names.
set -euo pipefail
release=$1 version=$2 part=$3 xtask=$4 helm=$5 tree=$PWD
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"

# Starts the server of this folder with programs.
serve() {
  : >server.log
  PATH=$1:$PATH
  TENURE_DATA_DIR=$work/data TENURE_LISTEN=127.0.0.1:0 TENURE_ADMIN_LISTEN=127.0.0.1:0 "$1/tenured" >server.log 2>&1 &
  until grep -q 'serving grpc=' server.log; do
    kill -0 $! || { cat server.log; exit 1; }
    sleep 0.1
  done
  TENURE_ENDPOINTS=http://$(sed -n 's/.*serving grpc=\([^ ]*\).*/\1/p' server.log)
  export TENURE_ENDPOINTS
}

# The line of the README's section "Install" for this, without its backticks.
shown() {
  local line
  line=$(sed -n '/^## Install/,/^## [^I]/s/^| '"$1"'[^|]*| `\(.*\)` |$/\1/p' "$tree/README.md")
  [ -n "$line" ] || { echo "the README does not say how to install for $1" >&2; return 1; }
  echo "$line"
}

# Starts a registry that has the crates and the npm package of this release, and all others.
serve_registry() {
  mkdir crates
  for crate in "$release"/crates/*.crate; do
    tar -xzf "$crate" -C crates
    cargo metadata --quiet --no-deps --format-version 1 --manifest-path "crates/$(basename "$crate" .crate)/Cargo.toml"
  done >crates.json
  tar -xzOf "$release"/npm/*.tgz package/package.json >package.json
  local index
  index=$(ls -t "${CARGO_HOME:-$HOME/.cargo}"/registry/index/*/config.json | head -1)
  node "$tree/tests/tools/xtask/src/release/registry.mjs" "$release" "$work" "$(dirname "$index")" \
    "$(npm config get registry)" >registry.log &
  until grep -q http registry.log; do
    kill -0 $!
    sleep 0.1
  done
  registry=$(cat registry.log)
}

serve_archive() {
  mkdir installed
  (
    cd "$release/programs"
    tar() { command tar "${@/#\/usr\/local/$work/installed}"; }
    eval "$(shown Linux)"
  )
  serve "$work/installed/bin"
}

# The example `basic`, as this command runs it, acquires a lock and releases it.
acquires() {
  timeout 60 "$@" >basic.log 2>&1 || { cat basic.log; exit 1; }
  grep -q 'acquired token=' basic.log && grep -q released basic.log || { cat basic.log; exit 1; }
}

# The example `leader_loop`, as this command runs it, leads.
leads() {
  : >leader.log
  "$@" >leader.log 2>&1 &
  until grep -q 'work token=' leader.log; do
    kill -0 $! || { cat leader.log; exit 1; }
    sleep 0.1
  done
  kill $!
}

prove_programs() {
  serve_archive
  test "$(tenure lock x -- echo works)" = works
  tenure --version | grep -qF "$version"
  tenured --version | grep -qF "$version"
  for document in man/man1/tenure.1 man/man8/tenured.8 bash-completion/completions/tenure; do
    test -s installed/share/$document
  done
  # Without any library.
  mkdir -p empty && cp installed/bin/* empty
  chroot empty /tenured --version | grep -qF "$version"
}

# Emulated.
prove_arm64() {
  tar -xzf "$release"/programs/tenure-"$version"-aarch64-*.tar.gz
  dpkg-deb --extract "$release"/programs/tenure_*_arm64.deb package
  mkdir emulated
  for name in tenure tenured; do
    cmp tenure-"$version"-*/bin/$name package/usr/bin/$name
    printf '#!/bin/sh\nexec qemu-aarch64-static %s "$@"\n' \
      "$(echo "$work"/tenure-"$version"-*/bin/$name)" >emulated/$name
    chmod +x emulated/$name
  done
  # The image has them, too.
  tar -xf "$release"/image/tenure-"$version"-arm64-docker.tar
  for layer in *.tar; do tar -xf "$layer" usr/local/bin 2>>layers.log || true; done
  cmp tenure-"$version"-*/bin/tenured usr/local/bin/tenured
  grep -q '"architecture":"arm64"' config.json
  test "$(dpkg-deb --field "$release"/programs/tenure_*_arm64.deb Architecture)" = arm64
  serve "$work/emulated"
  # `tenure lock` starts itself again, which this emulator does not do.
  tenure acquire x --session s --ttl 60s | grep -q 'acquired, token'
  tenure --version | grep -qF "$version"
}

# In a Debian that has nothing else.
prove_debian() {
  mmdebstrap --quiet --variant=apt bookworm root
  cp "$release"/programs/tenure_*_amd64.deb root/
  echo 'APT::Get::Assume-Yes "true";' >root/etc/apt/apt.conf.d/yes
  chroot root sh -c "cd / && $(shown Debian)" >install.log 2>&1 || { cat install.log; exit 1; }
  chroot root tenured --version | grep -qF "$version"
  serve "$work/root/usr/bin"
  test "$(tenure lock x -- echo works)" = works
  grep -qx ExecStart=/usr/bin/tenured root/usr/lib/systemd/system/tenured.service
  test -d root/etc/tenure/secrets && test -s root/etc/tenure/tenured.env
  chroot root apt-get remove tenure >remove.log 2>&1 || { cat remove.log; exit 1; }
  test ! -e root/usr/bin/tenured && test -s root/etc/tenure/tenured.env
}

prove_image() {
  cd "$release/image"
  docker() { "$xtask" container --archive "$PWD/$3"; }
  eval "$(shown containers)"
  # The same image for registries, for each platform.
  tar -xf tenure-*-oci.tar -C "$work"
  grep -qF "\"org.opencontainers.image.ref.name\":\"tenure:$version\"" "$work/index.json"
  for architecture in amd64 arm64; do
    grep -rqF "\"architecture\":\"$architecture\"" "$work/blobs"
  done
}

prove_chart() {
  cd "$release/chart"
  # Without a cluster.
  helm() { "$helm" "$@" --kubeconfig /dev/null --dry-run=client >"$work/chart.log"; }
  cp "$tree"/tests/static/chart/values/tls-tokens.yaml "$work/values.yaml"
  cp tenure-*.tgz "$work" && cd "$work"
  eval "$(shown Kubernetes)"
  grep -q 'kind: Deployment' chart.log
}

prove_crates() {
  serve_archive
  serve_registry
  mkdir -p program/src/bin program/.cargo
  cp "$tree"/client-rs/examples/{basic,leader_loop}.rs program/src/bin/
  cd program
  cat >Cargo.toml <<END
[package]
name = "program"
edition = "2024"
[dependencies]
tokio = { version = "1", features = ["full"] }
END
  cat >.cargo/config.toml <<END
[source.crates-io]
replace-with = "release"
[source.release]
registry = "sparse+$registry/index/"
END
  eval "$(shown Rust)"
  cargo build --quiet
  acquires target/debug/basic
  leads target/debug/leader_loop
}

prove_go() {
  serve_archive
  local module=github.com/tenure-lock/tenure/clients/go
  export GOMODCACHE=$work/modules GOFLAGS=-modcacherw GONOSUMDB=$module GONOSUMCHECK=1
  GOPROXY=file://$release/go,$(go env GOPROXY)
  export GOPROXY
  mkdir program && cd program
  go mod init example.com/program
  eval "$(shown Go)"
  go get $module/leaderelection
  for example in basic leader_loop; do
    cp -r "$tree"/clients/go/examples/$example .
    go build -o $example-program ./$example
  done
  acquires ./basic-program
  leads ./leader_loop-program
}

prove_python() {
  serve_archive
  python3 -m venv venv
  export PATH=$work/venv/bin:$PATH PIP_FIND_LINKS=$release/python
  eval "$(shown Python)"
  acquires venv/bin/python "$tree"/clients/python/examples/basic.py
  leads venv/bin/python -u "$tree"/clients/python/examples/leader_loop.py
  venv/bin/pip install --quiet --force-reinstall --no-deps "$release"/python/*.tar.gz
  acquires venv/bin/python "$tree"/clients/python/examples/basic.py
}

prove_maven() {
  serve_archive
  mkdir -p program/src/main/java && cd program
  local group artifact number
  IFS=: read -r group artifact number <<<"$(shown Java)"
  cp "$tree"/clients/java/examples/src/main/java/io/tenure/examples/{Basic,LeaderLoop,Stopping}.java src/main/java/
  cat >pom.xml <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>program</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories><repository><id>release</id><url>file://$release/maven</url></repository></repositories>
  <dependencies>
    <dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$number</version></dependency>
  </dependencies>
</project>
END
  # In a repository of its own, where nothing was installed from this tree.
  mvn -B -ntp -q -Dmaven.repo.local="$work/repository" compile dependency:build-classpath -Dmdep.outputFile=classpath
  acquires java -cp "target/classes:$(cat classpath)" io.tenure.examples.Basic
  leads java -cp "target/classes:$(cat classpath)" io.tenure.examples.LeaderLoop
  for artifact in tenure-client tenure-shedlock tenure-spring-boot-starter tenure-spring-integration; do
    for file in .jar -sources.jar -javadoc.jar .pom; do
      test -s "$release/maven/io/tenure/$artifact/$version/$artifact-$version$file"
    done
  done
}

prove_npm() {
  serve_archive
  serve_registry
  mkdir program && cd program
  cp "$release"/tree/clients/typescript/dist/examples/{basic,leader_loop}.js .
  echo '{ "type": "module" }' >package.json
  export npm_config_registry=$registry npm_config_audit=false npm_config_fund=false npm_config_cache=$work/npm
  eval "$(shown TypeScript)"
  acquires node basic.js
  leads node leader_loop.js
  echo "require('tenure-client').Client.connect; require('tenure-client/fence')" >common.cjs
  node common.cjs
}

prove_"$part"
