#include "pickle/opcodes.h"
#include "pickle/tracer.h"

/// What a call of a known name is given, and what comes of it: see call_policy.h.
namespace ckpt::pickle {

void Tracer::refuse_keywords(std::uint32_t type) {
  if (takes_addresses(trace_.names[type].module)) trace_.names[type].verdict = Verdict::dangerous;
}

/// What is known is harmless as picklers use it, and this is not how.
void Tracer::refuse(std::uint32_t name) {
  TracedName& used = trace_.names[name];
  const bool is_known =
      used.verdict == Verdict::known || used.risk == CallRisk::is_made_bare;  // unknown once it is built
  if (is_known)
    used.verdict = Verdict::dangerous;
  else
    ++used.pushed;  // a use that is no call
}

/// A call that makes or calls what it is given first, which is a name.
void Tracer::apply(std::uint32_t callable, const Tuple& arguments) {
  TracedName& by = trace_.names[callable];
  TracedName& given = trace_.names[arguments.first.index];
  if (by.risk == CallRisk::makes_first) {
    if (passes_keywords(by.module, by.name)) refuse_keywords(arguments.first.index);
    if (!is_made_by_functions(given.risk) || arguments.objects != 0) refuse(arguments.first.index);
    const bool is_of_base = by.name == "_reconstructor";
    if (is_of_base && arguments.objects != 0) return;
    if (is_of_base &&
        (arguments.second.kind != Kind::name || !is_plain_base(trace_.names[arguments.second.index].module)))
      return;
  } else if (by.risk == CallRisk::calls_first) {
    if (!is_rebuilt_by(given.module)) refuse(arguments.first.index);
  } else {
    return;
  }
  ++by.called_as_judged;
}

/// Whether what a generator of random numbers is made by is told by none, or by a function of numpy's own.
bool Tracer::is_told_numpys(std::span<const std::uint32_t> arguments) const {
  const Cell one = arguments.empty() ? Cell{} : unpacked(arguments[0]);
  if (arguments.size() != 1 || one.kind != Kind::tuple) return arguments.size() == 1;
  const Tuple& tuple = tuples_[one.index];
  if (tuple.first.kind == Kind::name && !makes_bits(trace_.names[tuple.first.index].module)) return false;
  if (tuple.size < 2) return true;
  const bool is_name = tuple.second.kind == Kind::name;
  return tuple.size == 2 && is_name && trace_.names[tuple.second.index].risk == CallRisk::makes_random;
}

/// `arguments`: REDUCE, NEWOBJ and NEWOBJ_EX have a tuple (and keywords), INST and OBJ what they pass.
void Tracer::judge_call(const Op& op, std::uint32_t name, std::span<const std::uint32_t> arguments) {
  const bool listed = op.code == INST || op.code == OBJ;
  std::uint32_t objects = objects_among(arguments);
  const Cell one = arguments.empty() ? Cell{} : unpacked(arguments[0]);
  const bool is_hidden =
      one.kind == container.kind && one.index == container.index;   // Python's own unpickler takes any
  if (!listed && (objects != 0 || is_hidden)) return refuse(name);  // what it is given cannot be seen
  if (any_acts(arguments)) refuse(name);
  if (!listed && one.kind == Kind::tuple) objects = tuples_[one.index].objects;
  switch (trace_.names[name].risk) {
    case CallRisk::takes_memory:
    case CallRisk::is_not_called:
      return refuse(name);
    case CallRisk::is_made_bare:
    case CallRisk::is_made_plain:
      if (op.code != NEWOBJ) refuse(name);
      return;
    case CallRisk::makes_random:
      if (!is_told_numpys(arguments)) refuse(name);
      return;
    case CallRisk::iterates:
      // A factory is not asked for items.
      if (objects > (trace_.names[name].name == "defaultdict" ? 1 : 0)) refuse(name);
      return;
    case CallRisk::encodes:
      if (op.code != REDUCE || one.kind != Kind::tuple || !encodes(name, tuples_[one.index])) refuse(name);
      return;
    case CallRisk::returns_first:
      if (op.code != REDUCE) refuse(name);
      return;
    default:
      return;
  }
}

/// What makes or calls what it is given is harmless only where that can be seen.
void Tracer::judge_appliers() {
  for (TracedName& name : trace_.names) {
    const bool applies = name.risk == CallRisk::makes_first || name.risk == CallRisk::calls_first;
    if (applies && name.pushed != name.called_as_judged) name.verdict = Verdict::dangerous;
  }
}

void Tracer::call(const Op& op, Cell callable, std::span<const std::uint32_t> arguments) {
  if (is_object(callable)) {
    if (callable.index != none)
      refuse(callable.index);
    else if (!options_.continued || callable.kind == Kind::result)
      suspect(op, computed_name, computed_name);  // what an id stands for, which some loaders take from the file
    return push({Kind::result, callable.index});
  }
  if (callable.kind != Kind::name)
    fail(std::string(opcode_table[op.code].name) + " calls a value that cannot be called");
  reach(callable.index, op.code);
  judge_call(op, callable.index, arguments);
  // REDUCE and NEWOBJ are given a tuple, INST and OBJ the arguments themselves.
  const bool listed = op.code == INST || op.code == OBJ;
  const Cell one = arguments.empty() ? Cell{} : unpacked(arguments[0]);
  if (listed) {
    for (const std::uint32_t argument : arguments)
      if (const Cell cell = unpacked(argument); cell.kind == Kind::text) give(callable.index, cell.index);
  } else if (one.kind == Kind::tuple) {
    const Tuple& tuple = tuples_[one.index];
    if (op.code == REDUCE && encodes(callable.index, tuple)) {
      Text text = texts_[tuple.first.index];
      text.form = Form::encoded;
      texts_.push_back(text);
      count_to(texts_.size());
      return push({Kind::text, static_cast<std::uint32_t>(texts_.size() - 1)});
    }
    const CallRisk risk = trace_.names[callable.index].risk;
    if (risk == CallRisk::returns_first) return push(shared(tuple.first));
    if (tuple.first.kind == Kind::name) {
      if (op.code == REDUCE) apply(callable.index, tuple);
      return push({Kind::result, risk == CallRisk::makes_first ? tuple.first.index : callable.index});
    }
    if (tuple.first.kind != Kind::text) return push({Kind::result, callable.index});
    const bool given = give(callable.index, tuple.first.index);
    if (given && op.code == REDUCE && tuple.size == 1 && texts_[tuple.first.index].form != Form::str)
      ++trace_.names[callable.index].called_as_judged;
    if (tuple.second.kind == Kind::text) give(callable.index, tuple.second.index);
  }
  push({Kind::result, callable.index});
}

void Tracer::step_call(const Op& op) {
  if (op.code == INST) {
    if (marks_.empty()) {  // Python's own unpickler in Python imports before it misses it
      Op only = op;
      only.code = GLOBAL;
      import(only, op.text, op.text2);
    }
    const std::vector<std::uint32_t> arguments = [&] {
      const auto taken = pop_to_mark();
      return std::vector<std::uint32_t>(taken.begin(), taken.end());
    }();
    import(op, op.text, op.text2);
    const Cell type = unpacked(stack_.back());
    stack_.pop_back();
    return call(op, type, arguments);
  }
  if (op.code == OBJ) {
    const auto operands = pop_to_mark();
    if (operands.empty()) fail("OBJ is given no class");
    return call(op, unpacked(operands[0]), operands.subspan(1));
  }
  const auto operands = pop(op.code == NEWOBJ_EX ? 3 : 2);
  if (const Cell type = unpacked(operands[0]); op.code == NEWOBJ_EX) {
    if (type.kind == Kind::name)
      refuse_keywords(type.index);
    else
      suspect(op, computed_name, computed_name);
  }
  call(op, unpacked(operands[0]), operands.subspan(1));
}

}  // namespace ckpt::pickle
