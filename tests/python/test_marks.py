# SPDX-License-Identifier: Apache-2.0
"""What the recorder is told by step, phase, mark, note and recording, and what wrong arguments do."""

import pytest


def test_without_the_recorder_everything_is_silent_and_checks_its_arguments_all_the_same(tell):
    told = tell(
        """
        import memsnap, gc, sys
        memsnap.step(); memsnap.step("a"); memsnap.mark("m"); memsnap.note(batch=3)
        with memsnap.step_scope(), memsnap.phase("p"):
            memsnap.categorize(); gc.collect()
        with memsnap.activations(): pass
        assert not memsnap.recording() and "torch" not in sys.modules and not gc.callbacks
        for wrong in (lambda: memsnap.phase(3), lambda: memsnap.mark(b"m"), lambda: memsnap.note(rate=0.5), lambda: memsnap.categorize(model=3)):
            try: wrong()
            except TypeError: print("refused")
        """,
        preload=False,
    )

    assert (told.code, told.stdout, told.stderr, told.lines) == (0, "refused\n" * 4, "", [])


def test_each_call_tells_the_recorder_what_it_was_given(tell):
    told = tell(
        """
        import gc, memsnap
        gc.disable()
        class Index:
            def __index__(self): return -7
        memsnap.mark("é\\0 x"); memsnap.mark("half \\ud800"); memsnap.note(batch=True, tokens=2**63 - 1, least=Index())
        memsnap.step()
        gc.enable()
        memsnap.step("train 3")
        print(memsnap.recording())
        """,
        TOLD_RECORDING="1",
    )

    assert told.stdout == "True\n", told.stderr
    assert told.of("note", "step") == ["note 1 batch", f"note {2**63 - 1} tokens", "note -7 least", "step 1", "step 0 train 3"]
    assert told.of("mark")[0].startswith("mark é") and told.of("mark")[1] == "mark half ?"


@pytest.mark.parametrize("call, error", [
    ("memsnap.note(rate=0.5, batch=3)", "TypeError"),
    ("memsnap.note(batch='3')", "TypeError"),
    ("memsnap.note(batch=2**63)", "OverflowError"),
    ("memsnap.step(3)", "TypeError"),
    ("memsnap.mark(None)", "TypeError"),
    ("memsnap.phase('x')(3)", "TypeError"),
    ("memsnap.phase('x')(int)", "TypeError"),
    ("memsnap.categorize(optimizer='sgd')", "TypeError"),
])
def test_wrong_arguments_raise_and_nothing_is_told(tell, call, error):
    told = tell(f"import memsnap\ntry: {call}\nexcept {error} as wrong: print('refused')")

    assert told.stdout == "refused\n", told.stderr
    assert told.of("note", "step", "mark", "begin", "category") == []


def test_a_step_scope_ends_one_step_at_its_exit_and_none_after_an_exception(tell):
    told = tell(
        """
        import memsnap
        with memsnap.step_scope("s"):
            memsnap.mark("inside")
        for unfinished in range(2):
            try:
                with memsnap.step_scope("s"):
                    if unfinished: raise RuntimeError
                    continue
            except RuntimeError: pass
        """
    )

    assert told.story() == "mark inside step 0 s step 0 s", told.stderr


def test_step_is_no_context_and_says_what_is(tell):
    told = tell("import memsnap\nwith memsnap.step(): pass")

    assert told.code == 1 and "step_scope" in told.stderr


def test_a_phase_is_closed_whatever_happens_inside_and_may_be_used_again(tell):
    told = tell(
        """
        import memsnap
        outer = memsnap.phase("outer")
        @outer
        def recursive(depth):
            "doc"
            if depth: recursive(depth - 1)
            else: raise KeyboardInterrupt
        assert recursive.__name__ == "recursive" and recursive.__doc__ == "doc"
        with outer:
            with outer, memsnap.phase("inner"): pass
        try: recursive(1)
        except KeyboardInterrupt: pass
        """
    )

    assert told.story() == "range:outer( range:outer( range:inner( ) ) ) range:outer( range:outer( ) )", told.stderr


def test_one_phase_object_in_two_threads_closes_each_threads_own_range(tell):
    told = tell(
        """
        import memsnap, threading
        shared, turns = memsnap.phase("shared"), [threading.Event() for _ in range(2)]
        def other():
            with shared:
                turns[0].set(); turns[1].wait()
        thread = threading.Thread(target=other); thread.start()
        turns[0].wait()
        with shared: pass
        turns[1].set(); thread.join()
        """
    )

    told.story()
    assert len(told.of("begin")) == len(told.of("end")) == 2, told.stderr


def test_a_generators_phase_is_closed_while_it_is_suspended(tell):
    told = tell(
        """
        import memsnap
        @memsnap.phase("data")
        def items():
            try:
                got = yield 1
                memsnap.mark(f"got {got}")
                try: yield 2
                except ValueError: memsnap.mark("caught")
                yield 3
            finally:
                memsnap.mark("closed")
        made = items()
        print(next(made), made.send("sent"), made.throw(ValueError))
        memsnap.mark("outside")
        made.close()
        def rest():
            return (yield from memsnap.phase("data")(lambda: (yield 4))())
        print(list(rest()))
        """
    )

    assert told.stdout == "1 2 3\n[4]\n", told.stderr
    assert told.story() == (
        "range:data( ) range:data( mark got sent ) range:data( mark caught ) mark outside range:data( mark closed ) range:data( ) range:data( )"
    )


def test_a_coroutines_phase_is_not_open_in_other_tasks(tell):
    told = tell(
        """
        import asyncio, inspect, memsnap
        @memsnap.phase("one")
        async def one(turn, other):
            memsnap.mark("one a"); other.set(); await turn.wait(); memsnap.mark("one b")
            return 5
        async def two(turn, other):
            await turn.wait(); memsnap.mark("two"); other.set()
        @memsnap.phase("many")
        async def many():
            try:
                yield 1
                await asyncio.sleep(0)
                yield 2
            finally:
                memsnap.mark("closed")
        async def main():
            first, second = asyncio.Event(), asyncio.Event()
            print((await asyncio.gather(one(first, second), two(second, first)))[0])
            print([item async for item in many()])
            stopped = many()
            print(await stopped.asend(None)); await stopped.aclose()
            failing = many()
            await failing.asend(None)
            try: await failing.athrow(KeyError)
            except KeyError: print("passed through")
        assert inspect.iscoroutinefunction(one)
        asyncio.run(main())
        """
    )

    assert told.stdout == "5\n[1, 2]\n1\npassed through\n", told.stderr
    assert told.story().startswith("label:one( mark one a ) mark two label:one( mark one b ) label:many( ) label:many( ) label:many( )")
    assert told.story().count("label:many( mark closed )") == 3


def test_a_decorated_function_is_of_the_kind_it_was(tell):
    told = tell(
        """
        import inspect, memsnap
        def plain(): pass
        def generator(): yield
        async def coroutine(): pass
        async def generating(): yield
        kinds = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        for function in (plain, generator, coroutine, generating):
            wrapped = memsnap.phase("p")(function)
            print(function.__name__ == wrapped.__name__, [kind(function) for kind in kinds] == [kind(wrapped) for kind in kinds])
        """
    )

    assert told.stdout == "True True\n" * 4, told.stderr


def test_the_package_warns_of_nothing_and_does_not_import_asyncio(tell):
    program = """
        import sys, warnings
        warnings.simplefilter("error")
        import memsnap
        @memsnap.phase("p")
        async def coroutine(): pass
        print("asyncio" in sys.modules)
        """

    assert [told.stdout + told.stderr for told in (tell(program), tell(program, preload=False))] == ["False\n"] * 2


def test_each_pass_of_the_garbage_collector_is_a_range_of_its_generation(tell):
    told = tell(
        """
        import gc, memsnap
        import memsnap as again
        class Node:
            def __del__(self): memsnap.mark("freed")
        node = Node(); node.me = node; del node
        gc.collect(1); gc.collect()
        """
    )

    passes = [rest.split()[1:] for _, word, rest in told.all_lines if word == "begin"]
    assert ["5", "1"] in passes and ["5", "2"] in passes, told.stderr
    words = [word for _, word, _ in told.all_lines]
    freed = words.index("mark")
    assert words[freed - 1] == "begin" and words[freed + 1] == "end"
    assert words.count("begin") == words.count("end")
