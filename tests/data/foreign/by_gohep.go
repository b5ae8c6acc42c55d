// Writes a small tree of counted lists: go run by_gohep.go OUTPUT, in a module that requires go-hep.org/x/hep v0.35.0
// and golang.org/x/tools v0.38.0.
package main

import (
	"log"
	"os"

	"go-hep.org/x/hep/groot"
	"go-hep.org/x/hep/groot/rtree"
)

func main() {
	file, err := groot.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var row struct {
		N int32     `groot:"nj"`
		J []float32 `groot:"j[nj]"`
		K int64     `groot:"k"`
	}
	tree, err := rtree.NewWriter(file, "t", rtree.WriteVarsFromStruct(&row))
	if err != nil {
		log.Fatal(err)
	}
	for i, list := range [][]float32{{1}, {2, 3}, {4}} {
		row.N, row.J, row.K = int32(len(list)), list, int64(7+i)
		if _, err := tree.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := tree.Close(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}
