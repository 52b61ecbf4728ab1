# SPDX-License-Identifier: Apache-2.0
"""Generators and coroutines that run inside a range which is closed whenever they are suspended.

`begin()` opens the range and returns what `end()` closes. Values, exceptions and closing pass through unchanged.
"""


class _Awaitable:
    def __init__(self, steps):
        self._steps = steps

    def __await__(self):
        return self._steps


def resumed_generator(inner, begin, end):
    """`inner` is a generator, or anything with send, throw and close of one."""
    resume, value = inner.send, None
    while True:
        handle = begin()
        try:
            yielded = resume(value)
        except StopIteration as done:
            return done.value
        finally:
            end(handle)
        try:
            value, resume = (yield yielded), inner.send
        except GeneratorExit:
            handle = begin()
            try:
                inner.close()
            finally:
                end(handle)
            raise
        except BaseException as error:
            value, resume = error, inner.throw


def resumed_awaitable(coroutine, begin, end):
    """To be awaited in the coroutine's place."""
    return _Awaitable(resumed_generator(coroutine, begin, end))


def resumed_async_generator_function(function, begin, end):
    """An asynchronous generator function in the place of `function`; inspect, too, takes it for one."""

    async def resumed(*arguments, **options):
        inner = function(*arguments, **options)
        resume, value = inner.asend, None
        try:
            while True:
                try:
                    item = await resumed_awaitable(resume(value), begin, end)
                except StopAsyncIteration:
                    return
                try:
                    value, resume = (yield item), inner.asend
                except GeneratorExit:
                    raise
                except BaseException as error:
                    value, resume = error, inner.athrow
        finally:
            await resumed_awaitable(inner.aclose(), begin, end)

    return resumed
