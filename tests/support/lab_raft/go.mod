module labraft

go 1.26
