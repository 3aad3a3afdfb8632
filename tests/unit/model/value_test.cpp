#include "ckpt/value.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace ckpt {
namespace {

using Ids = std::vector<ValueId>;

Ids items_of(const ValueGraph& graph, ValueId id) { return {graph.items(id).begin(), graph.items(id).end()}; }

std::vector<Ids> effects_of(const ValueGraph& graph, ValueId id) {
  std::vector<Ids> effects;
  for (auto handle = graph.first_effect(id); handle != 0; handle = graph.effect(handle).next) {
    const auto items = graph.items(graph.effect(handle));
    effects.emplace_back(items.begin(), items.end());
  }
  return effects;
}

TEST(ValueGraph, HoldsWhatEachKindIsMadeOf) {
  ValueGraph graph;
  EXPECT_EQ(graph.kind(graph.make_none()), ValueKind::none);
  EXPECT_TRUE(graph.boolean(graph.make_boolean(true)));
  EXPECT_EQ(graph.integer(graph.make_integer(-5)), -5);
  EXPECT_EQ(graph.real(graph.make_real(0.5)), 0.5);
  EXPECT_EQ(graph.text(graph.make_str("a\0b")), "a");
  EXPECT_EQ(graph.text(graph.make_text(ValueKind::bytes, std::string_view("a\0b", 3))), std::string_view("a\0b", 3));
  EXPECT_EQ(graph.text(graph.make_big_integer("\1\2")), "\1\2");
  EXPECT_EQ(graph.integer(graph.make_extension(300)), 300);
}

TEST(ValueGraph, GlobalsKeepModuleAndNameApart) {
  ValueGraph graph;
  const ValueId first = graph.make_global("a.b", "c");
  const ValueId second = graph.make_global("", "d.e");
  EXPECT_EQ(graph.module(first), "a.b");
  EXPECT_EQ(graph.name(first), "c");
  EXPECT_EQ(graph.module(second), "");
  EXPECT_EQ(graph.name(second), "d.e");
}

TEST(ValueGraph, AGlobalMayBeMadeOfTheGraphsOwnTexts) {
  const std::string long_module(1000, 'm'), longer_module(10'000, 'n');
  ValueGraph graph;
  const ValueId name = graph.make_str("the_name_of_a_class");
  const ValueId global = graph.make_global(long_module, graph.text(name));
  EXPECT_EQ(graph.module(global), long_module);
  EXPECT_EQ(graph.name(global), "the_name_of_a_class");
  graph.rename_global(global, longer_module, graph.text(name));
  EXPECT_EQ(graph.module(global), longer_module);
  EXPECT_EQ(graph.name(global), "the_name_of_a_class");
}

TEST(ValueGraph, AGlobalMayHoldItems) {
  ValueGraph graph;
  const ValueId module = graph.make_str("m"), name = graph.make_str("n");
  const ValueId global = graph.make_global("m", "n");
  EXPECT_TRUE(graph.items(global).empty());
  graph.set_items(global, std::array{module, module});
  graph.set_item(global, 1, name);
  EXPECT_EQ(items_of(graph, global), (Ids{module, name}));
  EXPECT_EQ(graph.name(global), "n");
}

TEST(ValueGraph, ItemsAreReplacedByMoreOrFewer) {
  ValueGraph graph;
  const ValueId a = graph.make_integer(1), c = graph.make_integer(2);
  const ValueId tuple = graph.make_tuple(std::array{a, c}), behind = graph.make_tuple(std::array{c, c});
  graph.set_items(tuple, std::array{c});
  EXPECT_EQ(items_of(graph, tuple), (Ids{c}));
  graph.set_items(tuple, std::array{a, a, c});
  EXPECT_EQ(items_of(graph, tuple), (Ids{a, a, c}));
  EXPECT_EQ(items_of(graph, behind), (Ids{c, c}));
}

TEST(ValueGraph, WhatHoldsNoValuesHasNoItems) {
  ValueGraph graph;
  for (const ValueId id : {graph.make_none(), graph.make_boolean(true), graph.make_integer(-1), graph.make_real(1.5),
                           graph.make_str("text"), graph.make_big_integer("\1\2"), graph.make_extension(7)})
    EXPECT_TRUE(graph.items(id).empty());
}

TEST(ValueGraph, OnlyGlobalsHaveNames) {
  ValueGraph graph;
  graph.make_global("m", "n");
  for (const ValueId id : {graph.make_none(), graph.make_integer(0), graph.make_str("text"), graph.make_extension(0),
                           graph.make_tuple({}), graph.make_persistent(0)}) {
    EXPECT_EQ(graph.module(id), "");
    EXPECT_EQ(graph.name(id), "");
  }
}

TEST(ValueGraph, EffectsOfValuesThatAlternateStayWithTheirTargets) {
  ValueGraph graph;
  const ValueId one = graph.make_integer(1), two = graph.make_integer(2);
  const ValueId a = graph.make_container(ValueKind::list), c = graph.make_container(ValueKind::list);
  graph.add_effect(a, EffectKind::append, std::array{one}, 0, 3);
  graph.add_effect(c, EffectKind::append, std::array{two});
  graph.add_effect(a, EffectKind::append, std::array{two, c}, 0, 5, true);
  EXPECT_EQ(effects_of(graph, a), (std::vector<Ids>{{one}, {two, c}}));
  EXPECT_EQ(effects_of(graph, c), (std::vector<Ids>{{two}}));
  const Effect& last = graph.effect(graph.effect(graph.first_effect(a)).next);
  EXPECT_EQ(last.target, a);
  EXPECT_EQ(last.time, 5u);
  EXPECT_TRUE(last.late);
}

TEST(ValueGraph, OperandsCanBeReplacedByMoreAndFewer) {
  ValueGraph graph;
  const ValueId one = graph.make_integer(1), two = graph.make_integer(2);
  const ValueId tuple = graph.make_tuple(std::array{one, two});
  const ValueId other = graph.make_tuple(std::array{two});
  graph.set_item(tuple, 1, one);
  EXPECT_EQ(items_of(graph, tuple), (Ids{one, one}));
  graph.set_items(tuple, std::array{two, one, two});
  EXPECT_EQ(items_of(graph, tuple), (Ids{two, one, two}));
  EXPECT_EQ(items_of(graph, other), (Ids{two}));
  graph.set_items(tuple, {});
  EXPECT_TRUE(graph.items(tuple).empty());
}

TEST(ValueGraph, EffectsCanBeReplacedByMoreAndFewer) {
  ValueGraph graph;
  const ValueId one = graph.make_integer(1), two = graph.make_integer(2);
  const ValueId dict = graph.make_container(ValueKind::dict);
  const auto handle = graph.add_effect(dict, EffectKind::set_items, std::array{one, two});
  graph.set_effect_item(handle, 0, two);
  EXPECT_EQ(effects_of(graph, dict), (std::vector<Ids>{{two, two}}));
  graph.set_effect_items(handle, std::array{one, two, two, one});
  EXPECT_EQ(effects_of(graph, dict), (std::vector<Ids>{{one, two, two, one}}));
}

TEST(ValueGraph, ItemsOfItsOwnMayBeGivenBackToIt) {
  ValueGraph graph;
  ValueId list = graph.make_container(ValueKind::list, std::array{graph.make_integer(0), graph.make_integer(1)});
  for (int i = 0; i < 12; ++i) {  // while the graph's arrays grow, and move
    list = graph.make_container(ValueKind::list, graph.items(list));
    graph.set_items(list, graph.items(list));
    ASSERT_EQ(items_of(graph, list), (Ids{0, 1}));
  }
}

TEST(ValueGraph, ACopyIsIndependent) {
  ValueGraph graph;
  const ValueId tuple = graph.make_tuple(std::array{graph.make_integer(1)});
  ValueGraph copy = graph;
  copy.set_item(tuple, 0, copy.make_none());
  EXPECT_EQ(graph.kind(graph.items(tuple)[0]), ValueKind::integer);
  EXPECT_EQ(copy.kind(copy.items(tuple)[0]), ValueKind::none);
}

}  // namespace
}  // namespace ckpt
