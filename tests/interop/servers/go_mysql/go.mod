module go_mysql

go 1.23

require github.com/dolthub/go-mysql-server v0.20.0
