"""Logs that tell a part of what happened: is there a behaviour of the spec that explains their lines?"""
