"""Log replication and elections of OpenMessaging DLedger 0.2.7, sans-IO, step by step as in spec/dledger.

`Server` is one node. Each action of the spec is a method of it by the same name (`HandleDoAppend` is
`handle_do_append`), which changes that node only and returns its effects on the world outside.
"""
