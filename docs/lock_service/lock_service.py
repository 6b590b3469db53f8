"""A lock service that writes a line of JSON about everything it does."""

import json
import random
import sys


class LockService:
    """One lock, a queue of clients, a fencing token; `forgetful` keeps the old token when an owner leaves."""

    def __init__(self, forgetful=False):
        self.owner, self.waiting, self.token, self.forgetful = None, [], 0, forgetful

    def lock(self, client):
        if self.owner is None:
            self.grant(client)
        else:
            self.waiting.append(client)
        self.log("locked", client)

    def unlock(self, client):
        self.pass_on()
        self.log("unlocked", client)

    def leave(self, client):
        if client == self.owner:
            self.pass_on(keep_token=self.forgetful)
        else:
            self.waiting.remove(client)
        self.log("gone", client)

    def pass_on(self, keep_token=False):
        self.owner = None
        if self.waiting:
            self.grant(self.waiting.pop(0), keep_token)

    def grant(self, client, keep_token=False):
        self.owner = client
        self.token += 0 if keep_token else 1

    def log(self, what, client):
        state = {"owner": self.owner, "waiting": self.waiting, "token": self.token}
        print(json.dumps({"what": what, "client": client, "state": state}))


service, chance = LockService(forgetful="--forgetful" in sys.argv), random.Random(7)
print(json.dumps({"what": "started"}))
for _ in range(200):
    who = chance.choice("abc")
    if who == service.owner:
        chance.choice([service.unlock, service.leave])(who)
    elif who in service.waiting:
        service.leave(who)
    else:
        service.lock(who)
