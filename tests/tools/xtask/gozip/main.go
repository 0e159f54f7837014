// Packs the files of a Go module as a module proxy serves them: MODULE VERSION FOLDER ARCHIVE.
package main

import (
	"log"
	"os"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("gozip MODULE VERSION FOLDER ARCHIVE")
	}
	if err := pack(module.Version{Path: os.Args[1], Version: os.Args[2]}, os.Args[3], os.Args[4]); err != nil {
		log.Fatal(err)
	}
}

func pack(of module.Version, folder, archive string) error {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(file, of, folder); err != nil {
		return err
	}
	return file.Close()
}
