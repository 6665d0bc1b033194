from parrot import provider

from partstream import ask_sync

print(ask_sync(provider, "Say hello to the world."))
