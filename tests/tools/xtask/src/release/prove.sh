# Installs a part of a release where there is nothing else, and runs it against the released server: RELEASE VERSION PART.
set -euo pipefail
release=$1 version=$2 part=$3 tree=$PWD
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

serve_archive() {
  tar -xzf "$release"/programs/tenure-"$version"-*.tar.gz
  serve "$(echo "$work"/tenure-"$version"-*/bin)"
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
    test -s tenure-"$version"-*/share/$document
  done
}

prove_debian() {
  dpkg-deb -x "$release"/programs/tenure_*.deb root
  serve "$work/root/usr/bin"
  test "$(tenure lock x -- echo works)" = works
  grep -qx ExecStart=/usr/bin/tenured root/usr/lib/systemd/system/tenured.service
  test -d root/etc/tenure/secrets && test -s root/etc/tenure/tenured.env
}

prove_crates() {
  serve_archive
  mkdir -p crates program/src/bin
  for crate in "$release"/crates/*.crate; do
    tar -xzf "$crate" -C crates
  done
  cp "$tree"/client-rs/examples/{basic,leader_loop}.rs program/src/bin/
  cd program
  cat >Cargo.toml <<END
[package]
name = "program"
edition = "2024"
[dependencies]
tenure-client = "$version"
tenure-fence = "$version"
tokio = { version = "1", features = ["full"] }
[patch.crates-io]
tenure-proto = { path = "../crates/tenure-proto-$version" }
tenure-client = { path = "../crates/tenure-client-$version" }
tenure-fence = { path = "../crates/tenure-fence-$version" }
END
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
  go get $module@v"$version" $module/leaderelection@v"$version"
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
  venv/bin/pip install --quiet "$release"/python/*.whl
  acquires venv/bin/python "$tree"/clients/python/examples/basic.py
  leads venv/bin/python -u "$tree"/clients/python/examples/leader_loop.py
  venv/bin/pip install --quiet --force-reinstall --no-deps "$release"/python/*.tar.gz
  acquires venv/bin/python "$tree"/clients/python/examples/basic.py
}

prove_maven() {
  serve_archive
  mkdir -p program/src/main/java && cd program
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
    <dependency><groupId>io.tenure</groupId><artifactId>tenure-client</artifactId><version>$version</version></dependency>
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
  mkdir program && cd program
  cp "$release"/tree/clients/typescript/dist/examples/{basic,leader_loop}.js .
  echo '{ "type": "module" }' >package.json
  npm install --silent --no-audit --no-fund "$release"/npm/*.tgz
  acquires node basic.js
  leads node leader_loop.js
  echo "require('tenure-client').Client.connect; require('tenure-client/fence')" >common.cjs
  node common.cjs
}

prove_"$part"
